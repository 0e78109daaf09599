// Uses completion handlers on the main queue and on other queues.

import BluebonnetCallbacks
import BluebonnetTesting
import Foundation

struct Tea: Codable, Sendable {
    var name: String
    var minutes: Int
}

/// Shows a tea on the main actor, as user interface code does.
@MainActor final class TeaView {
    var title = "…"

    func show(_ url: URL) async {
        await withCheckedContinuation { shown in
            // snippet.main
            // Without a queue, a handler runs on the main queue and can use the
            // state of the main actor.
            AF.request(url)
                .validate()
                .downloadProgress { progress in
                    print("\(progress.completedUnitCount) bytes")
                }
                .responseDecodable(of: Tea.self) { response in
                    self.title = response.value?.name ?? "no tea"
                    shown.resume()
                }
            // snippet.end
        }
        print(title)
    }
}

enum CallbackStyle {
    static func run() async throws {
        let server = try await LocalServer { router in
            router.get("/tea") { _ in .json(Tea(name: "Assam", minutes: 4)) }
        }
        await TeaView().show(server.url("/tea"))
        await onAQueue(server.url("/tea"))
        await errors(server.url("/coffee"))
    }

    static func onAQueue(_ url: URL) async {
        await withCheckedContinuation { done in
            // snippet.queue
            let queue = DispatchQueue(label: "tea")
            AF.request(url)
                .responseString(queue: queue) { response in
                    print("first:", response.value ?? "nothing")
                }
                .responseDecodable(of: Tea.self, queue: queue) { response in
                    print("then:", response.value?.minutes ?? 0, "minutes")
                    done.resume()
                }
            // snippet.end
        }
    }

    static func errors(_ url: URL) async {
        await withCheckedContinuation { done in
            // snippet.errors
            AF.request(url)
                .validate().responseData(queue: .global()) { response in
                    switch response.result {
                    case .success(let data): print(data.count)
                    case .failure(let error) where error.responseCode == 404:
                        print("There is no such tea.")
                    case .failure(let error): print(error.localizedDescription)
                    }
                    done.resume()
                }
            // snippet.end
        }
    }
}

try await CallbackStyle.run()
