/// Somebody who awaits an answer; to be resumed exactly once.
///
/// A debug build traps when that is done twice, and warns when it is never done. A release build does without: a checked
/// continuation is an allocation, and a type whose size the compiler does not know, for each wait.
// Safety: whoever keeps one takes it from behind a lock to resume it, and so resumes it once; debug builds check that.
@safe
struct Resumption<Value: Sendable>: Sendable {
    #if DEBUG
        fileprivate let continuation: CheckedContinuation<Value, Never>
    #else
        fileprivate let continuation: UnsafeContinuation<Value, Never>
    #endif

    func resume(returning value: Value) {
        #if DEBUG
            continuation.resume(returning: value)
        #else
            unsafe continuation.resume(returning: value)
        #endif
    }
}

extension Resumption<Void> {
    func resume() {
        resume(returning: ())
    }
}

/// Waits until the resumption that `body` gets is used; `body` runs at once.
func withResumption<Value>(_ body: (Resumption<Value>) -> Void) async -> Value {
    #if DEBUG
        await withCheckedContinuation { body(Resumption(continuation: $0)) }
    #else
        unsafe await withUnsafeContinuation { unsafe body(Resumption(continuation: $0)) }
    #endif
}
