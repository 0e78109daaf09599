import Bluebonnet
import FoundationEssentials

/// Hands out the response of an exchange of the stub whose body is held back after its head.
///
/// Runs on the global pool; nothing is called with the lock held.
final class StubDelivery: Sendable {
    private struct Guarded {
        var state = StubDeliveryState()
        var receiver: (any BodyReceiver)?
    }

    private let guarded = Locked(Guarded())
    private let observer: any ExchangeObserver
    private let ended: @Sendable () -> Void

    init(observer: any ExchangeObserver, ended: @escaping @Sendable () -> Void) {
        self.observer = observer
        self.ended = ended
    }

    func begin(with outcome: ExchangeOutcome) { run(if: guarded.withLock { $0.state.answered(outcome) }) }

    func release(to receiver: (any BodyReceiver)?) {
        let (isNeeded, _) = guarded.withLock { guarded in
            let earlier = exchange(&guarded.receiver, with: receiver)
            return (guarded.state.released(toReceiver: receiver != nil), earlier)
        }
        run(if: isNeeded)
    }

    func demand() { run(if: guarded.withLock { $0.state.demanded() }) }

    func setSuspended(_ isSuspended: Bool) { run(if: guarded.withLock { $0.state.setSuspended(isSuspended) }) }

    func abort(with error: RequestError) { run(if: guarded.withLock { $0.state.aborted(with: error) }) }

    private func run(if isNeeded: Bool) {
        guard isNeeded else { return }
        Task {
            while true {
                let (step, receiver) = guarded.withLock { ($0.state.nextStep(), $0.receiver) }
                switch step {
                case .tellHead(let response):
                    observer.exchangeDidReceiveHead(response)
                case .deliver(let piece, let received):
                    guard let receiver else { continue }
                    observer.exchangeDidReceive(received, ofExpected: nil)
                    let action = receiver.receive(piece)
                    guarded.withLock { $0.state.received(action) }
                case .complete(let outcome):
                    observer.exchangeDidComplete(outcome)
                    ended()
                case .wait:
                    return
                }
            }
        }
    }
}
