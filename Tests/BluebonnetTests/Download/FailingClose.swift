import Glibc

/// Makes closing a file fail, like the system does for a network disk that could not store the written bytes.
///
/// Call this in a separate process only, because it cannot be undone. A filter of system calls (`seccomp`) returns the
/// error for files that this thread opens later.
enum FailingClose {
    /// Lets files from this descriptor on fail.
    private static let first: Int32 = 600

    /// Begins; returns whether the system lets this process have such a filter.
    static func begin() async -> Bool {
        // Dispatch has its threads from now on. They also close files, and must not inherit the filter of this thread.
        try? await Task.sleep(for: .milliseconds(1))
        // The lowest free descriptor is the next: the ones below are taken.
        var descriptor = dup(0)
        while descriptor >= 0, descriptor < first - 1 { descriptor = dup(0) }
        guard descriptor >= 0 else { return false }
        #if arch(x86_64)
            let close: UInt32 = 3
        #else
            let close: UInt32 = 57
        #endif
        // Takes the call's number; allows others than `close`. Takes the descriptor; allows low ones. Fails with EIO.
        let program: [Instruction] = [
            Instruction(code: load, value: 0), Instruction(code: ifEqual, otherwise: 3, value: close),
            Instruction(code: load, value: 16), Instruction(code: ifAtLeast, otherwise: 1, value: UInt32(first)),
            Instruction(code: answer, value: 0x0005_0000 | UInt32(EIO)), Instruction(code: answer, value: 0x7fff_0000),
        ]
        // C's `prctl` takes any number of arguments, which Swift cannot pass.
        typealias Control = @convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32
        guard let symbol = unsafe dlsym(nil, "prctl") else { return false }
        let control = unsafe unsafeBitCast(symbol, to: Control.self)
        return unsafe program.withUnsafeBufferPointer { instructions in
            // A count, and where the instructions are.
            let filter = [UInt(instructions.count), UInt(bitPattern: instructions.baseAddress)]
            return unsafe filter.withUnsafeBufferPointer { filter in
                // PR_SET_NO_NEW_PRIVS, and PR_SET_SECCOMP with SECCOMP_MODE_FILTER.
                control(38, 1, 0, 0, 0) == 0 && control(22, 2, UInt(bitPattern: filter.baseAddress), 0, 0) == 0
            }
        }
    }

    /// An instruction of the filter, as the system knows it.
    private struct Instruction {
        let code: UInt16
        /// How many instructions are left out if a condition holds, and if it does not.
        var then: UInt8 = 0
        var otherwise: UInt8 = 0
        let value: UInt32
    }

    private static let load: UInt16 = 0x20
    private static let ifEqual: UInt16 = 0x15
    private static let ifAtLeast: UInt16 = 0x35
    private static let answer: UInt16 = 0x06
}
