/// The JSON object that the server of the benchmark answers with.
public struct Person: Codable, Equatable, Sendable {
    /// A postal address.
    public struct Address: Codable, Equatable, Sendable {
        let street: String
        let city: String
        let code: String
    }

    let id: Int
    let name: String
    let email: String
    let active: Bool
    let score: Double
    let tags: [String]
    let address: Address

    /// The object, as the server writes it: about 200 bytes.
    public static let json =
        #"{"id":1,"name":"Ada Lovelace","email":"ada@example.com","active":true,"score":99.5,"#
        + #""tags":["mathematics","engines","poetry"],"#
        + #""address":{"street":"12 St James Square","city":"London","code":"SW1Y 4JH"}}"#

    /// The object that ``json`` describes.
    public static let ada = Person(
        id: 1, name: "Ada Lovelace", email: "ada@example.com", active: true, score: 99.5,
        tags: ["mathematics", "engines", "poetry"],
        address: Address(street: "12 St James Square", city: "London", code: "SW1Y 4JH"))
}
