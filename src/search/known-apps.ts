/**
 * Well-known apps and products, as people write them, without spaces and in lower case. A request that names one is about
 * that app. If it is not among the actions, another app is not an answer.
 */
const names = `
activecampaign adobe adyen affinity airtable airbyte algolia alibaba amazon amazons3 amplitude angellist anthropic apify apollo.io
appstore appsheet appsflyer asana ashby atlassian auth0 autodesk awslambda aws azure azuredevops bamboohr basecamp beehiiv bigcommerce bigquery
binance bitbucket bitly bitrix24 bitwarden bluesky brevo buffer.com bugsnag calcom calendly canva capsulecrm chargebee chatgpt chatwoot circleci
clearbit clickhouse clickup clockify cloudflare cloudinary coda cohere coinbase coinmarketcap confluence contentful convertkit coupa couchdb
crowdstrike customerio databricks datadog deepl deepseek dialpad digitalocean discord discourse disqus docusign docuseal drchrono
dropbox drupal dynamics365 dynamodb ebay elasticsearch elevenlabs erpnext etsy evernote eventbrite expensify facebook facebookads fastmail
fathom figma firebase firecrawl firestore fireflies freshbooks freshdesk freshsales freshservice fullstory getresponse ghostcms
github gitlab gitea gmail goodreads google googleads googleanalytics googlebigquery googlecalendar googlechat googlecloudstorage googlecontacts
googledocs googledrive googleforms googlemaps googlemeet googlephotos googlesearchconsole googlesheets googleslides googletasks
googletranslate gorgias grafana gravityforms greenhouse groq gumroad gusto harvestapp helpscout heroku highlevel hootsuite hubspot
huggingface hunter.io icloud instagram intercom invision jenkins jira jotform kafka kajabi keap keycloak klaviyo kubernetes
lemlist leverats linkedin looker loom magento mailchimp mailerlite mailgun mailjet manychat mariadb mastodon matomo mattermost
mailerlite medium.com messagebird metabase metaads microsoft365 microsoftexcel microsoftonedrive microsoftoutlook microsoftsharepoint
microsoftteams microsofttodo miro mistralai mixpanel monday.com mongodb moodle msteams mysql nasa neo4j netlify netsuite newrelic nextcloud
notion odoo office365 okta onedrive onenote onesignal openai openweather openweathermap opsgenie outlook outreach.io paddle pagerduty pandadoc
patreon paypal perplexity perplexityai personio pinecone pinterest pipedrive plaid podio postgres postgresql posthog postmark
power bi powerbi pocketbase productboard pushover qdrant quickbooks quickbooksonline quora rabbitmq razorpay reddit redis redshift retool
ringcentral rocketchat sage50 salesforce salesloft samsara sap segment.com semrush sendgrid sendinblue sentry servicenow sharefile
sharepoint shipstation shopify shortcut.com signalwire slack smartsheet snapchat snowflake snyk soundcloud splunk spotify squarespace
stackoverflow statuspage strava stripe substack supabase surveymonkey tableau telegram tiktok todoist toggl trello trustpilot
tumblr twilio twitch twitter typeform uber unsplash vercel vimeo vonage vtiger walmart wave.com weaviate webex webflow whatsapp
wikipedia wise.com woocommerce wordpress workable workday wrike wufoo xero yelp youtube zapier zendesk zenefits zoho zohobooks
zohocrm zohodesk zoom zoominfo zulip`

const known: ReadonlySet<string> = new Set(names.split(/\s+/).map((name) => name.replaceAll('.', '')))

/** Companies whose name is the first word of many products: "Google" alone does not say which. */
const vendors: ReadonlySet<string> = new Set(
  'adobe amazon apple aws azure facebook google ibm meta microsoft ms oracle sap zoho'.split(' '),
)

export const isKnownApp = (spelling: string): boolean => known.has(spelling)
export const isVendor = (word: string): boolean => vendors.has(word)
