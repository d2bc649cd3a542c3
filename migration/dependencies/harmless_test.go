package dependencies

import (
	"fmt"
	"strings"
	"testing"
)

// TestK11NobodyGetsRightsByACopy: only Secrets of harmless types are copied, and only the token of the pods'
// own account.
func TestK11NobodyGetsRightsByACopy(t *testing.T) {
	for name, tc := range map[string]struct{ kind, account, says string }{
		"no type":                      {"", "", ""},
		"Opaque":                       {"Opaque", "", ""},
		"Opaque of an account":         {"Opaque", "admin", ""},
		"tls":                          {"kubernetes.io/tls", "", ""},
		"basic-auth":                   {"kubernetes.io/basic-auth", "", ""},
		"ssh-auth":                     {"kubernetes.io/ssh-auth", "", ""},
		"dockercfg":                    {"kubernetes.io/dockercfg", "", ""},
		"dockerconfigjson":             {"kubernetes.io/dockerconfigjson", "", ""},
		"a token of the pods' account": {"kubernetes.io/service-account-token", "app", ""},
		"a token of another account":   {"kubernetes.io/service-account-token", "admin", "a token of ServiceAccount admin"},
		"a token of nobody":            {"kubernetes.io/service-account-token", "", "a token of ServiceAccount (none)"},
		"a bootstrap token":            {"bootstrap.kubernetes.io/token", "", "nodes join"},
		"a release of Helm":            {"helm.sh/release.v1", "", "Helm takes it"},
		"a type that nobody knows":     {"example.com/lets-everybody-in", "", "may act on it"},
		"almost Opaque":                {"opaque", "", "may act on it"},
	} {
		t.Run(name, func(t *testing.T) {
			text := fmt.Sprintf(`{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: shop, annotations: {kubernetes.io/service-account.name: %q}}, type: %q}`, tc.account, tc.kind)
			got := Refused(read(t, text), "app")
			if (got == "") != (tc.says == "") || !strings.Contains(got, tc.says) {
				t.Errorf("%q, want %q", got, tc.says)
			}
			if got := Refused(read(t, strings.Replace(text, "kind: Secret", "kind: ConfigMap", 1)), "app"); got != "" {
				t.Errorf("a ConfigMap: %s", got)
			}
		})
	}
}
