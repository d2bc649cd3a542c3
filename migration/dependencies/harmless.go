package dependencies

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// harmless are the types of Secrets that only their readers act on. Each was checked against the controllers of
// Kubernetes: none of these types has one. Every other type is not copied.
var harmless = []corev1.SecretType{
	corev1.SecretTypeOpaque, corev1.SecretTypeTLS, corev1.SecretTypeBasicAuth, corev1.SecretTypeSSHAuth,
	corev1.SecretTypeDockercfg, corev1.SecretTypeDockerConfigJson,
}

// acts says what a type of Secret does in the cluster that it is copied to.
var acts = map[corev1.SecretType]string{
	corev1.SecretTypeServiceAccountToken: "the destination would put a token of ServiceAccount %s into it, and the pods run as another account",
	corev1.SecretTypeBootstrapToken:      "it lets nodes join a cluster",
	"helm.sh/release.v1":                 "Helm takes it for a release of its own, and deletes and upgrades by it",
}

// Refused returns why an object is never copied for pods that run as an account, or nothing. A Secret whose type a
// controller acts on gives rights, and the source chooses type and annotations. The token of the pods' own account
// gives them nothing new.
func Refused(origin *unstructured.Unstructured, account string) string {
	if origin.GetKind() != Secret {
		return ""
	}
	kind := cmp.Or(corev1.SecretType(text(origin.Object, "type")), corev1.SecretTypeOpaque)
	of := origin.GetAnnotations()[corev1.ServiceAccountNameKey]
	if slices.Contains(harmless, kind) || kind == corev1.SecretTypeServiceAccountToken && of == account {
		return ""
	}
	why, known := acts[kind]
	switch {
	case !known:
		why = "a controller of the destination may act on it"
	case kind == corev1.SecretTypeServiceAccountToken:
		why = fmt.Sprintf(why, cmp.Or(of, "(none)"))
	}
	return fmt.Sprintf("is of type %s, which is not copied: %s", kind, why)
}
