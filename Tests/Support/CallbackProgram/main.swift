// Blocks its main thread until a handler on a private queue has been called: for a test that this does not deadlock.
import BluebonnetCallbacks
import Foundation

let done = DispatchSemaphore(value: 0)
let queue = DispatchQueue(label: "private")
let url = CommandLine.arguments.dropFirst().first ?? ""

AF.request(url)
    .validate()
    .onHTTPResponse(on: queue) { _ in }
    .downloadProgress(queue: queue) { _ in }
    .responseData(queue: queue) { response in
        print(response.value?.count ?? -1)
        done.signal()
    }
done.wait()
