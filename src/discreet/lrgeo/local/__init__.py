"""Programs of locally relevant obfuscation ([QLPSX24]_): what published methods and sound ones are both built of."""
