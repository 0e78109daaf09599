/// Identifies a transfer within its engine.
///
/// Dictionaries and sets that every request uses have `Int` keys, also for sockets and ports. The first use of another
/// key type takes 210,000 instructions, because the runtime searches all conformances. This is 1 % of a program that
/// fetches once.
typealias TransferID = Int
