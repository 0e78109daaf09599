extension URLEncodedFormEncoder {
    /// Says how the keys of an array's elements are made.
    @nonexhaustive
    public enum ArrayEncoding: Sendable {
        /// The array's key and `[]`, as in `a[]=1&a[]=2`.
        case brackets
        /// The array's key alone, as in `a=1&a=2`.
        case noBrackets
        /// The array's key and the index in brackets, as in `a[0]=1&a[1]=2`.
        case indexInBrackets
        /// What the closure makes of the array's key and the index.
        case custom(@Sendable (_ key: String, _ index: Int) -> String)

        /// Returns the key of an element.
        func key(_ key: String, at index: Int) -> String {
            switch self {
            case .brackets: "\(key)[]"
            case .noBrackets: key
            case .indexInBrackets: "\(key)[\(index)]"
            case .custom(let encode): encode(key, index)
            }
        }
    }

    /// Says how a nested key is appended to the key around it.
    public struct KeyPathEncoding: Sendable {
        /// In brackets, as in `user[name]=`.
        public static let brackets = KeyPathEncoding { "[\($0)]" }
        /// After a dot, as in `user.name=`.
        public static let dots = KeyPathEncoding { ".\($0)" }

        /// Returns what is appended for a nested key.
        let suffix: @Sendable (String) -> String

        /// Creates an option.
        ///
        /// - Parameter encode: Returns what is appended for a nested key.
        public init(_ encode: @escaping @Sendable (_ subkey: String) -> String) {
            suffix = encode
        }
    }

    /// Says how keys are converted, each as a whole with the keys around it.
    @nonexhaustive
    public enum KeyEncoding: Sendable {
        /// Leaves keys as they are.
        case useDefaultKeys
        /// Puts `_` before each word and makes the key lower case: `oneTwoThree` becomes `one_two_three`.
        case convertToSnakeCase
        /// Puts `-` before each word and makes the key lower case: `oneTwoThree` becomes `one-two-three`.
        case convertToKebabCase
        /// Makes the first letter upper case: `oneTwoThree` becomes `OneTwoThree`.
        case capitalized
        /// Makes all letters upper case.
        case uppercased
        /// Makes all letters lower case.
        case lowercased
        /// What the closure makes of the key.
        case custom(@Sendable (String) -> String)

        /// Returns the converted key.
        func convert(_ key: String) -> String {
            switch self {
            case .useDefaultKeys: key
            case .convertToSnakeCase: Self.words(of: key).joined(separator: "_")
            case .convertToKebabCase: Self.words(of: key).joined(separator: "-")
            case .capitalized: key.prefix(1).uppercased() + key.dropFirst()
            case .uppercased: key.uppercased()
            case .lowercased: key.lowercased()
            case .custom(let convert): convert(key)
            }
        }

        /// Returns the words of a key in camel case, in lower case.
        ///
        /// A word begins at an upper case letter; of several, such as in `myURLPath`, the last begins the next word when
        /// a lower case letter comes somewhere after them. The first letter begins the first word, whatever its case.
        private static func words(of key: String) -> [String] {
            let letters = Array(key)
            var words: [ArraySlice<Character>] = []
            var wordStart = 0
            var position = 1
            while let upper = letters[min(position, letters.count)...].firstIndex(where: \.isUppercaseLetter) {
                words.append(letters[wordStart..<upper])
                wordStart = upper
                guard let lower = letters[upper...].firstIndex(where: \.isLowercaseLetter) else { break }
                if lower > upper + 1 {
                    words.append(letters[upper..<lower - 1])
                    wordStart = lower - 1
                }
                position = lower + 1
            }
            words.append(letters[wordStart...])
            return words.map { String($0).lowercased() }
        }
    }
}

extension Character {
    fileprivate var isUppercaseLetter: Bool {
        switch unicodeScalars.first?.properties.generalCategory {
        case .uppercaseLetter, .titlecaseLetter: true
        default: false
        }
    }

    fileprivate var isLowercaseLetter: Bool {
        unicodeScalars.first?.properties.generalCategory == .lowercaseLetter
    }
}
