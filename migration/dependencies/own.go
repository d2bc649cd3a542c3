package dependencies

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Own lists the objects that a migration itself uses in the namespace where it creates pods.
type Own struct {
	// Account is the ServiceAccount of that namespace with which the migration writes there; empty if there is
	// none.
	Account string
	// Secrets are the Secrets with the migration's credentials.
	Secrets []string
}

// Named returns the ones that a pod template names; empty if there are none. Such pods could do everything
// there that the migration may do.
func (o Own) Named(spec corev1.PodSpec) string {
	var found []string
	if o.Account != "" && AccountOf(spec) == o.Account {
		found = append(found, "ServiceAccount "+o.Account)
	}
	for _, ref := range Walk(spec, nil) {
		if ref.Kind == Secret && slices.Contains(o.Secrets, ref.Name) {
			found = append(found, "Secret "+ref.Name+" ("+ref.From+")")
		}
	}
	return strings.Join(found, " and ")
}

// accounts begins the user names of ServiceAccounts (kubernetes apiserver, pkg/authentication/serviceaccount).
const accounts = "system:serviceaccount:"

// AccountIn returns the name of the ServiceAccount of a namespace that a user is; empty if it is not one.
func AccountIn(user, namespace string) string {
	name, is := strings.CutPrefix(user, accounts+namespace+":")
	if !is || strings.Contains(name, ":") {
		return ""
	}
	return name
}
