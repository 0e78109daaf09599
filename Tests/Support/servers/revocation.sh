# shellcheck shell=bash
# An authority whose certificates are revoked or not, its OCSP responder, and a server that staples. Sourced by servers.sh.
#
# It is a root, an intermediate authority, one that the root has revoked (`branch`), and what these have signed. All
# servers are one nginx on one port; a client says by name which it means: ROW.staple.test for the rows below.

# The rows: a name, the certificate that is shown, and the file of the response that is stapled, if any. The last, which is
# what the certificate of `secure` names as its responder, passes what it is asked on.
readonly STAPLE_ROWS='
good good good.der
revoked revoked revoked.der
unknown stranger unknown.der
expired good expired.der
expired-revoked revoked expired-revoked.der
future good future.der
endless good endless.der
none good
none-revoked revoked
foreign good foreign.der
delegated good delegated.der
undelegated good undelegated.der
another good another.der
garbage good garbage.der
must must must.der
must-none must
must-expired must must-expired.der
must-revoked must-revoked must-revoked.der
branch branch-leaf branch.der
many many
secure secure
responder good
'

# write_revocation_configuration DIRECTORY AUTHORITY
write_revocation_configuration() {
    local common="basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
authorityKeyIdentifier = keyid
subjectAltName = DNS:*.staple.test"
    write_ca_configuration "$1" "$2"
    cat >>"$1/$2.cnf" <<CONFIGURATION
[tests]
default_days = 10
default_crl_days = 10
certificate = $1/$2.pem
private_key = $1/$2.key
[plain]
$common
extendedKeyUsage = serverAuth
authorityInfoAccess = OCSP;URI:http://127.0.0.1:${ports[ocsp]}/
[must]
$common
extendedKeyUsage = serverAuth
authorityInfoAccess = OCSP;URI:http://127.0.0.1:${ports[ocsp]}/
tlsfeature = status_request
[many]
$common
extendedKeyUsage = serverAuth
authorityInfoAccess = OCSP;URI:ldap://first.test/,OCSP;URI:http://first.test/,OCSP;URI:http://second.test/ocsp
[secure]
$common
extendedKeyUsage = serverAuth
authorityInfoAccess = OCSP;URI:https://responder.staple.test:${ports[staple]}/
[delegate]
$common
extendedKeyUsage = OCSPSigning
[only_authorities]
issuingDistributionPoint = critical, @only_authorities_point
[only_authorities_point]
onlyCA = TRUE
[some_reasons]
issuingDistributionPoint = critical, @some_reasons_point
[some_reasons_point]
onlysomereasons = superseded
[another_point]
issuingDistributionPoint = critical, @another_point_point
[another_point_point]
fullname = URI:http://lists.test/another.crl
[delta]
2.5.29.27 = critical, DER:02:01:01
CONFIGURATION
}

# sign DIRECTORY AUTHORITY NAME EXTENSIONS: writes NAME.pem, by the authority.
sign() {
    openssl ca -config "$1/$2.cnf" -batch -notext -extensions "$4" -in "$1/leaf.csr" -subj "/CN=Bluebonnet revocation $3" \
        -out "$1/$3.pem"
}

# make_revocation_root DIRECTORY NAME: writes NAME.pem and NAME.key.
make_revocation_root() {
    new_key "$1/$2.key" && openssl req -x509 -config "$1/root.cnf" -extensions authority -key "$1/$2.key" \
        -out "$1/$2.pem" -days 10 -subj "/CN=Bluebonnet revocation $2"
}

# make_revocation_authority DIRECTORY NAME: the same for one below the root.
make_revocation_authority() {
    write_revocation_configuration "$1" "$2" && new_key "$1/$2.key" &&
        openssl req -new -config "$1/root.cnf" -key "$1/$2.key" -out "$1/$2.csr" -subj "/CN=Bluebonnet revocation $2" &&
        openssl ca -config "$1/root.cnf" -batch -notext -extensions authority -in "$1/$2.csr" -out "$1/$2.pem"
}

# staple DIRECTORY AUTHORITY SIGNER LEAF FILE OPTIONS...: what the authority's records say of the leaf.
staple() {
    local directory=$1 authority=$2 signer=$3 leaf=$4 file=$5
    shift 5
    openssl ocsp -index "$directory/$authority.txt" -CA "$directory/$authority.pem" -rsigner "$directory/$signer.pem" \
        -rkey "$directory/$signer.key" -issuer "$directory/$authority.pem" -cert "$directory/$leaf.pem" -no_nonce \
        -noverify -respout "$directory/$file" "$@"
}

make_staples() {
    local directory=$1
    staple "$directory" int int good good.der -ndays 7 &&
        staple "$directory" int int revoked revoked.der -ndays 7 &&
        staple "$directory" int int stranger unknown.der -ndays 7 &&
        in_the_past staple "$directory" int int good expired.der -nmin 60 &&
        in_the_past staple "$directory" int int revoked expired-revoked.der -nmin 60 &&
        in_the_future staple "$directory" int int good future.der -ndays 7 &&
        in_the_past staple "$directory" int int good endless.der &&
        staple "$directory" int other-root good foreign.der -ndays 7 &&
        staple "$directory" int delegate good delegated.der -ndays 7 &&
        staple "$directory" int good good undelegated.der -ndays 7 &&
        staple "$directory" int int revoked another.der -ndays 7 &&
        staple "$directory" int int must must.der -ndays 7 &&
        in_the_past staple "$directory" int int must must-expired.der -nmin 60 &&
        staple "$directory" int int must-revoked must-revoked.der -ndays 7 &&
        staple "$directory" branch branch branch-leaf branch.der -ndays 7 &&
        # A response that says to try later.
        printf '\x30\x03\x0a\x01\x03' >"$directory/garbage.der"
}

# Run openssl at another time. `faketime` cannot run functions, and openssl is all that asks for the time here.
in_the_past() { at_time "3 days ago" "$@"; }
in_the_future() { at_time "2 days" "$@"; }
at_time() {
    local time=$1
    shift
    (
        openssl() { faketime "$time" openssl "$@"; }
        "$@"
    )
}

# crl DIRECTORY AUTHORITY FILE OPTIONS...
crl() {
    local directory=$1 authority=$2 file=$3
    shift 3
    openssl ca -config "$directory/$authority.cnf" -gencrl -out "$directory/crls/$file" "$@"
}

make_lists() {
    local directory=$1
    mkdir -p "$directory/crls" "$directory/crls/hashed"
    crl "$directory" int int.pem &&
        crl "$directory" root root.pem &&
        crl "$directory" branch branch.pem &&
        crl "$directory" int expired.pem -crl_lastupdate 20200101000000Z -crl_nextupdate 20200201000000Z &&
        crl "$directory" int future.pem -crl_lastupdate 20400101000000Z -crl_nextupdate 20400201000000Z &&
        crl "$directory" int only-authorities.pem -crlexts only_authorities &&
        crl "$directory" int some-reasons.pem -crlexts some_reasons &&
        crl "$directory" int another-point.pem -crlexts another_point &&
        crl "$directory" int delta.pem -crlexts delta &&
        # The intermediate's by name alone: another key has signed it.
        crl "$directory" int forged.pem -keyfile "$directory/other-root.key" -cert "$directory/impostor.pem" &&
        openssl crl -in "$directory/crls/int.pem" -outform der -out "$directory/crls/int.der" &&
        cp "$directory/crls/int.pem" "$directory/crls/hashed/0a1b2c3d.r0" &&
        cp "$directory/crls/root.pem" "$directory/crls/hashed/4e5f6a7b.r0" &&
        cat "$directory/crls/int.pem" "$directory/crls/root.pem" "$directory/crls/branch.pem" >"$directory/crls/all.pem"
}

# make_rows DIRECTORY: what the servers show, as recorder.py wants it, too: rows/NAME.chain.pem, NAME.key and NAME.staple.
make_rows() {
    local directory=$1 name leaf response issuer
    mkdir -p "$directory/rows"
    while read -r name leaf response; do
        [[ -n $name ]] || continue
        issuer=int
        [[ $leaf != branch-leaf ]] || issuer=branch
        cat "$directory/$leaf.pem" "$directory/$issuer.pem" >"$directory/rows/$name.chain.pem" || return 1
        cp "$directory/leaf.key" "$directory/rows/$name.key" || return 1
        [[ -z $response ]] || cp "$directory/$response" "$directory/rows/$name.staple" || return 1
    done <<<"$STAPLE_ROWS"
}

# make_revocation_files DIRECTORY
make_revocation_files() {
    local directory=$1
    {
        write_revocation_configuration "$directory" root &&
            make_revocation_root "$directory" root && make_revocation_root "$directory" other-root &&
            make_revocation_authority "$directory" int && make_revocation_authority "$directory" branch &&
            new_key "$directory/leaf.key" &&
            openssl req -new -config "$directory/root.cnf" -key "$directory/leaf.key" -subj "/CN=leaf" \
                -out "$directory/leaf.csr" &&
            sign "$directory" int good plain && sign "$directory" int revoked plain && sign "$directory" int stranger plain &&
            sign "$directory" int must must && sign "$directory" int must-revoked must &&
            sign "$directory" int delegate delegate && sign "$directory" branch branch-leaf plain &&
            sign "$directory" int many many && sign "$directory" int secure secure &&
            cp "$directory/leaf.key" "$directory/good.key" && cp "$directory/leaf.key" "$directory/delegate.key" &&
            openssl req -x509 -config "$directory/root.cnf" -extensions authority -key "$directory/other-root.key" \
                -out "$directory/impostor.pem" -subj "/CN=Bluebonnet revocation int" &&
            openssl ca -config "$directory/int.cnf" -revoke "$directory/revoked.pem" &&
            openssl ca -config "$directory/int.cnf" -revoke "$directory/must-revoked.pem" -crl_reason keyCompromise &&
            openssl ca -config "$directory/root.cnf" -revoke "$directory/branch.pem" &&
            # The authority has forgotten one.
            sed -i '/revocation stranger$/d' "$directory/int.txt" &&
            make_staples "$directory" && make_lists "$directory" && make_rows "$directory"
    } >"$directory/openssl.log" 2>&1 || {
        echo "error: openssl could not make the certificates that are revoked or not:" >&2
        cat "$directory/openssl.log" >&2
        return 1
    }
}

write_staple_servers() {
    local directory=$1 name leaf response
    while read -r name leaf response; do
        [[ -n $name ]] || continue
        echo "server {"
        echo "    listen 127.0.0.1:${ports[staple]} ssl http2;"
        echo "    server_name $name.staple.test;"
        echo "    ssl_certificate rows/$name.chain.pem;"
        echo "    ssl_certificate_key rows/$name.key;"
        [[ $name != responder ]] || echo "    location / { proxy_pass http://127.0.0.1:${ports[ocsp_openssl]}/; }"
        [[ -z $response ]] || echo "    ssl_stapling on; ssl_stapling_file $directory/rows/$name.staple;"
        echo "}"
    done <<<"$STAPLE_ROWS"
}

# start_revocation: the responder, and the servers.
start_revocation() {
    local directory=$servers_directory/revocation user=""
    mkdir -p "$directory/temp" "$directory/htdocs"
    echo judged >"$directory/htdocs/index.html"
    make_revocation_files "$directory"
    write_staple_servers "$directory" >"$directory/servers.conf"
    [[ $EUID -ne 0 ]] || user="user root;"
    sed -e "s/@USER@/$user/" -e "s/@OCSP@/${ports[ocsp]}/" -e "s/@OCSP_OPENSSL@/${ports[ocsp_openssl]}/" \
        "$servers_sources/revocation.conf" >"$directory/nginx.conf"
    start_server staple "${ports[staple]}" nginx -e stderr -p "$directory/" -c nginx.conf
    start_ocsp "$directory"
}

# openssl's responder speaks to one client after the other, and never again to anybody once one has closed its connection
# without a request. So nginx stands in front of it, and nobody tries whether it is there: it says so.
start_ocsp() {
    local directory=$1 log=$servers_directory/logs/ocsp.log deadline=$((SECONDS + 30))
    # It cannot be told to listen on loopback alone.
    start_session "$log" openssl ocsp -index "$directory/int.txt" -port "${ports[ocsp_openssl]}" \
        -CA "$directory/int.pem" -rsigner "$directory/int.pem" -rkey "$directory/int.key" -nmin 60 -ignore_err
    server_pids+=($!)
    server_names+=(ocsp)
    server_ports+=("${ports[ocsp]}") # nginx's
    until grep -q -s ACCEPT "$log"; do
        if ! kill -0 "${server_pids[-1]}" 2>/dev/null || ((SECONDS >= deadline)); then
            echo "error: openssl's OCSP responder did not start; it says:" >&2
            cat "$log" >&2
            return 1
        fi
        sleep 0.05
    done
}

export_revocation() {
    export BLUEBONNET_STAPLE_PORT=${ports[staple]}
    export BLUEBONNET_OCSP_PORT=${ports[ocsp]}
    export BLUEBONNET_REVOCATION=$servers_directory/revocation
}
