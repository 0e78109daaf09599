/// What an observer of a ``StreamOf`` takes its values from; dropping it ends the observation.
package protocol StreamSource<Element>: AnyObject, Sendable {
    /// What it has.
    associatedtype Element: Sendable

    /// Returns the next value, waiting for it, or `nil` when there is none to come.
    nonisolated(nonsending) func next() async -> Element?
}
