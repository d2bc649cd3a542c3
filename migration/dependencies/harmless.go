package dependencies

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// harmless are the types of Secrets on which no controller of Kubernetes acts. Each type was checked against
// the controllers. All other types are not copied.
var harmless = []corev1.SecretType{
	corev1.SecretTypeOpaque, corev1.SecretTypeTLS, corev1.SecretTypeBasicAuth, corev1.SecretTypeSSHAuth,
	corev1.SecretTypeDockercfg, corev1.SecretTypeDockerConfigJson,
}

// acts maps a type of Secret to its effect in the cluster to which it would be copied.
var acts = map[corev1.SecretType]string{
	corev1.SecretTypeServiceAccountToken: "the destination would put a token of ServiceAccount %s into it, and the pods run as another account",
	corev1.SecretTypeBootstrapToken:      "it lets nodes join a cluster",
	"helm.sh/release.v1":                 "Helm takes it for a release of its own, and deletes and upgrades by it",
}

// Refused returns the reason why an object is never copied for pods that run as an account; empty if it may be
// copied. A Secret of a type on which a controller acts can give rights, and the source chooses the type and
// annotations. The token of the pods' own account gives them no new rights.
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
