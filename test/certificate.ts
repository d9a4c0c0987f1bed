import { createPrivateKey } from 'node:crypto'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'

/** A self-signed certificate for localhost, used only in tests. */
const certificate = `-----BEGIN CERTIFICATE-----
MIIBZjCCAQ2gAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhv
c3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMM
CWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABKBf+7fI+TJ2IuMe
sp8ajmpgQsiz/OzNcO7dkWvUdBnOGqMp7vs/zbZZthdCpwTQL47ak55CdD/o4OJz
4gPK/wGjTjBMMA8GA1UdEwEB/wQFMAMBAf8wGgYDVR0RBBMwEYIJbG9jYWxob3N0
hwR/AAABMB0GA1UdDgQWBBS/I1kVcv1NhgB7LffgnNBsRLXkmzAKBggqhkjOPQQD
AgNHADBEAiBLvShsWMZtvUDC9bEXD+atnUM0kORwum52LPrNkRZ9fgIgUotQATaT
Qu2ySgkpKr4U0wi/x5EC0zLdQwwu2x8en3U=
-----END CERTIFICATE-----`
const key = createPrivateKey({
  key: Buffer.from(
    'MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgZf8MWjXeEoTZYanfawgsq5YYJ70vtaIhoeWPs9ioStCh' +
      'RANCAASgX/u3yPkydiLjHrKfGo5qYELIs/zszXDu3ZFr1HQZzhqjKe77P822WbYXQqcE0C+O2pOeQnQ/6ODic+IDyv8B',
    'base64',
  ),
  format: 'der',
  type: 'pkcs8',
}).export({ type: 'pkcs8', format: 'pem' })

/** The key and certificate of a TLS server on loopback. */
export const identity = { key, cert: certificate }

/** Trusts the certificate until disposed. */
export function trust() {
  const before = getCACertificates('default')
  setDefaultCACertificates([...before, certificate])
  return { [Symbol.dispose]: () => setDefaultCACertificates(before) }
}
