extension ResponseCache {
    /// What a cache has done so far, and how large it is.
    public struct Statistics: Hashable, Sendable {
        /// How many requests were answered with what was stored, without the network.
        public internal(set) var hits = 0
        /// How many were answered with what was stored after the server had said that it is good still.
        public internal(set) var validations = 0
        /// How many were answered with what was stale, since the server could not answer (RFC 5861 §4).
        public internal(set) var standIns = 0
        /// How many were answered by the network, although something that is stored could have been the answer.
        public internal(set) var misses = 0
        /// How many responses were stored, freshened ones included.
        public internal(set) var stores = 0
        /// How often the system refused something with a file, or the directory could not be trusted; the requests went on
        /// without.
        public internal(set) var diskFailures = 0
        /// How many bytes of memory the responses take, about.
        public internal(set) var memoryBytes = 0
        /// How many bytes the files have, as far as is known.
        public internal(set) var diskBytes = 0

        /// Creates statistics of a cache that was not used.
        public init() {}
    }
}
