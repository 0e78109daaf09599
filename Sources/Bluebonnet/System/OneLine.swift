extension String {
    /// The text with spaces in place of line breaks and control characters.
    var onOneLine: String {
        String(String.UnicodeScalarView(unicodeScalars.map { $0.properties.isBreak ? " " : $0 }))
    }
}

extension Unicode.Scalar.Properties {
    /// Whether the scalar would break the line, control a terminal, or change the order of the text around it.
    fileprivate var isBreak: Bool {
        [.control, .lineSeparator, .paragraphSeparator].contains(generalCategory) || isBidiControl
    }
}
