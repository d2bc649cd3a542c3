package kubeconfig

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
)

// secret exists only in this process. Without it, a digest cannot be used to guess passwords.
var secret = []byte(rand.Text())

// identity returns a digest of all values that restConfig copies.
func (s selection) identity() string {
	return digest(
		[]byte(s.cluster.Server), []byte(s.cluster.TLSServerName), []byte(s.cluster.ProxyURL), s.cluster.CertificateAuthorityData,
		strconv.AppendBool(nil, s.cluster.DisableCompression),
		[]byte(s.user.Token), []byte(s.user.Username), []byte(s.user.Password), s.user.ClientCertificateData, s.user.ClientKeyData,
	)
}

// place returns a digest that identifies the cluster, for any identity and proxy.
func (s selection) place() string {
	return digest([]byte(s.cluster.Server), []byte(s.cluster.TLSServerName), s.cluster.CertificateAuthorityData)
}

// digest returns a digest of parts. It includes their lengths, so that different lists never hash the same text.
func digest(parts ...[]byte) string {
	sum := hmac.New(sha256.New, secret)
	for _, part := range parts {
		sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		sum.Write(part)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
