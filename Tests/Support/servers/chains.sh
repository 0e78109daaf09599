# shellcheck shell=bash
# Makes the chains of certificates that are wrong in one way each, and starts an nginx that shows them. Sourced by servers.sh.
#
# Each has the files NAME.pem and NAME.key, of the server itself, and NAME.chain.pem, which is what it shows.

# What the nginx shows, a port each. ChainServer.swift says what each one is.
readonly CHAINS=(three-levels not-yet-valid wildcard wildcard-two wildcard-top wildcard-partial addresses address-as-cn
    address-as-dns name-as-cn cn-beside-address missing-intermediate reversed extra client-only weak-key weak-sha1 weak-md5
    constrained not-ca expired-intermediate too-long critical impostor old-tls early-tls)

write_chain_configuration() {
    write_ca_configuration "$1"
    cat >>"$1/openssl.cnf" <<CONFIGURATION
[loose]
basicConstraints = CA:FALSE
[critical]
basicConstraints = critical, CA:FALSE
1.2.3.4.5 = critical, DER:0500
[last]
basicConstraints = critical, CA:TRUE, pathlen:0
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[constrained]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
nameConstraints = critical, permitted;DNS:elsewhere.test, permitted;IP:10.0.0.0/255.0.0.0
CONFIGURATION
}

# issue NAME EXTENSIONS SIGNER [NAMES [COMMON_NAME [START [END [DIGEST]]]]]: writes NAME.pem, and NAME.key unless it is there.
#
# NAMES are alternative names of the subject, none if empty. SIGNER is the name of an authority, with its folder.
issue() {
    local file=$chains/$1 extensions=$2 signer=$3 names=${4-} common=${5:-Bluebonnet tests $1}
    local start=${6:-$(date -u -d '-1 day' +%Y%m%d%H%M%SZ)} end=${7:-$(date -u -d '+20 days' +%Y%m%d%H%M%SZ)} digest=${8:-sha256}
    [[ -f $file.key ]] || new_key "$file.key"
    openssl req -new -config "$chains/openssl.cnf" -key "$file.key" -out "$file.csr" -subj "/CN=$common" \
        ${names:+-addext "subjectAltName=$names"} &&
        openssl ca -config "$chains/openssl.cnf" -batch -notext -md "$digest" -extensions "$extensions" \
            -cert "$signer.pem" -keyfile "$signer.key" -startdate "$start" -enddate "$end" -in "$file.csr" -out "$file.pem"
}

# show NAME [NAME...]: what the server of the first shows after its own certificate; a name with a slash is a whole path.
show() {
    local name=$1 file files=("$chains/$1.pem")
    shift
    for file in "$@"; do
        case $file in
        /*) files+=("$file.pem") ;;
        *) files+=("$chains/$file.pem") ;;
        esac
    done
    cat "${files[@]}" >"$chains/$name.chain.pem"
}

# The authorities below the root, most of which have something wrong with them.
make_intermediates() {
    local root=$1/ca past yesterday
    past=$(date -u -d '-30 days' +%Y%m%d%H%M%SZ)
    yesterday=$(date -u -d '-1 day' +%Y%m%d%H%M%SZ)
    issue intermediate authority "$root" &&
        issue other-intermediate authority "$root" &&
        issue expired-authority authority "$root" "" "" "$past" "$yesterday" &&
        issue constrained-authority constrained "$root" &&
        issue leaf-authority loose "$root" &&
        openssl genrsa -out "$chains/rsa-authority.key" 2048 && # there is no MD5 with elliptic curves
        issue rsa-authority authority "$root" &&
        issue last-authority last "$root" &&
        issue beyond-last-authority authority "$chains/last-authority"
}

# make_chains CERTIFICATES: beside the authority of the other certificates, which is the root of these.
make_chains() {
    local here="DNS:localhost,IP:127.0.0.1" root=$1/ca tomorrow
    chains=$1/chains
    tomorrow=$(date -u -d '+1 day' +%Y%m%d%H%M%SZ)
    mkdir -p "$chains"
    {
        write_chain_configuration "$chains" && make_intermediates "$1" &&
            issue three-levels leaf "$chains/intermediate" "$here" && show three-levels intermediate &&
            issue rotated leaf "$chains/intermediate" "$here" && show rotated intermediate &&
            issue not-yet-valid leaf "$root" "$here" "" "$tomorrow" && show not-yet-valid &&
            issue wildcard leaf "$root" "DNS:*.example.test" && show wildcard &&
            issue wildcard-two leaf "$root" "DNS:*.*.example.test" && show wildcard-two &&
            issue wildcard-top leaf "$root" "DNS:*.test" && show wildcard-top &&
            issue wildcard-partial leaf "$root" "DNS:a*.example.test" && show wildcard-partial &&
            issue addresses leaf "$root" "IP:127.0.0.1,IP:::1" && show addresses &&
            issue address-as-cn leaf "$root" "" 127.0.0.1 && show address-as-cn &&
            issue address-as-dns leaf "$root" "DNS:127.0.0.1" && show address-as-dns &&
            issue name-as-cn leaf "$root" "" a.example.test && show name-as-cn &&
            issue cn-beside-address leaf "$root" "IP:127.0.0.9" a.example.test && show cn-beside-address &&
            issue missing-intermediate leaf "$chains/intermediate" "$here" && show missing-intermediate &&
            issue reversed leaf "$chains/intermediate" "$here" && show reversed "$root" intermediate &&
            issue extra leaf "$chains/intermediate" "$here" &&
            show extra "$1/untrusted-ca" other-intermediate intermediate "$1/client" &&
            issue client-only client "$root" "$here" && show client-only &&
            openssl genrsa -out "$chains/weak-key.key" 1024 &&
            issue weak-key loose "$root" "$here" && show weak-key &&
            issue weak-sha1 leaf "$root" "$here" "" "" "" sha1 && show weak-sha1 &&
            issue weak-md5 leaf "$chains/rsa-authority" "$here" "" "" "" md5 && show weak-md5 rsa-authority &&
            issue constrained leaf "$chains/constrained-authority" "$here" && show constrained constrained-authority &&
            issue not-ca leaf "$chains/leaf-authority" "$here" && show not-ca leaf-authority &&
            issue expired-intermediate leaf "$chains/expired-authority" "$here" &&
            show expired-intermediate expired-authority &&
            issue too-long leaf "$chains/beyond-last-authority" "$here" &&
            show too-long beyond-last-authority last-authority &&
            issue critical critical "$root" "$here" && show critical &&
            issue impostor leaf "$1/untrusted-ca" "$here" && show impostor intermediate "$root" &&
            issue old-tls leaf "$root" "$here" && show old-tls &&
            issue early-tls leaf "$root" "$here" && show early-tls
    } >"$chains/openssl.log" 2>&1 || {
        echo "error: openssl could not make the chains:" >&2
        tail -n 20 "$chains/openssl.log" >&2
        return 1
    }
}

# start_chains: one server for each of CHAINS. Its answer and its log have the number of the connection.
start_chains() {
    local name protocols user="" directory=$servers_directory/chains
    chains=$servers_directory/certificates/chains
    [[ $EUID -ne 0 ]] || user="user root;"
    mkdir -p "$directory/temp"
    {
        cat <<CONFIGURATION
daemon off;
$user
pid nginx.pid;
error_log stderr notice;
worker_processes 1;
events { worker_connections 20000; }
http {
    log_format connections '\$connection \$ssl_session_reused \$ssl_early_data \$request_uri';
    access_log access.log connections;
    keepalive_timeout 300s;
    keepalive_requests 1000000000;
    client_body_temp_path temp/body;
    proxy_temp_path temp/proxy;
    fastcgi_temp_path temp/fastcgi;
    uwsgi_temp_path temp/uwsgi;
    scgi_temp_path temp/scgi;
    http2_max_concurrent_streams 2000;
    ssl_session_cache shared:sessions:1m;
    ssl_early_data on;
CONFIGURATION
        for name in "${CHAINS[@]}"; do
            protocols="TLSv1.2 TLSv1.3"
            [[ $name != old-tls ]] || protocols="TLSv1.1"
            [[ $name != early-tls ]] || protocols="TLSv1"
            echo "    server {"
            echo "        listen 127.0.0.1:${ports[chain-$name]} ssl http2;"
            echo "        ssl_protocols $protocols;"
            echo "        ssl_certificate $chains/$name.chain.pem;"
            echo "        ssl_certificate_key $chains/$name.key;"
            echo "        location / { return 200 \"\$connection \$ssl_session_reused early\$ssl_early_data\\n\"; }"
            echo "    }"
        done
        echo "}"
    } >"$directory/nginx.conf"
    # OpenSSL would not let a server have weak keys and signatures, or speak old versions of TLS.
    cat >"$directory/openssl.cnf" <<CONFIGURATION
openssl_conf = all
[all]
ssl_conf = ssl
[ssl]
system_default = lax
[lax]
CipherString = ALL:@SECLEVEL=0
MinProtocol = None
CONFIGURATION
    start_server chains "${ports[chain-three-levels]}" env OPENSSL_CONF="$directory/openssl.cnf" \
        nginx -e stderr -p "$directory/" -c nginx.conf
}

export_chains() {
    local name all=()
    for name in "${CHAINS[@]}"; do all+=("$name=${ports[chain-$name]}"); done
    export BLUEBONNET_CHAINS=${all[*]}
    export BLUEBONNET_CHAINS_LOG=$servers_directory/chains/access.log
}
