export type { Block, BlockFault, BlockTag, ResourceAccess, ToolUse, XmlCall } from './block.ts'
export { type ParserOptions, type PartialBlock, parseXml, type Quotation, type XmlEvent, XmlParser } from './parser.ts'
