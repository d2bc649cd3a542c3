package kubeconfig

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
)

// secret is of this process only: without it nobody can try passwords on an identity.
var secret = []byte(rand.Text())

// identity is a digest of all that restConfig copies.
func (s selection) identity() string {
	return digest(
		[]byte(s.cluster.Server), []byte(s.cluster.TLSServerName), []byte(s.cluster.ProxyURL), s.cluster.CertificateAuthorityData,
		strconv.AppendBool(nil, s.cluster.DisableCompression),
		[]byte(s.user.Token), []byte(s.user.Username), []byte(s.user.Password), s.user.ClientCertificateData, s.user.ClientKeyData,
	)
}

// place is a digest of what tells the cluster, whoever goes there, and by whichever proxy.
func (s selection) place() string {
	return digest([]byte(s.cluster.Server), []byte(s.cluster.TLSServerName), s.cluster.CertificateAuthorityData)
}

// digest is of parts, each with its length: no two lists of them are of the same text.
func digest(parts ...[]byte) string {
	sum := hmac.New(sha256.New, secret)
	for _, part := range parts {
		sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		sum.Write(part)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
