package config

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
)

var update = flag.Bool("update", false, "write the roles of constrained impersonation")

const (
	legacyRule = `# Covers the groups of a ServiceAccount, too; other users and groups are out of reach. From Kubernetes 1.36 on
# the roles of config/impersonation bound what is done as such an account.
- apiGroups: [""]
  resources: [serviceaccounts]
  verbs: [impersonate]
`
	constrainedRule = `# Covers the groups of a ServiceAccount, too; other users and groups are out of reach. What may be done as one
# is in impersonated_role.yaml: without that it is nothing.
- apiGroups: [authentication.k8s.io]
  resources: [serviceaccounts]
  verbs: ["impersonate:serviceaccount"]
`
	generated = "# Generated from %s by `make generate`; do not edit.\n"
)

// furtherRules lists what a move needs in addition to the roles of movers: API discovery, reviews of its own access, the
// check for a fence, and the Secrets of gates. The manager's own role may get each of these Secrets, too.
var furtherRules = []rbacv1.PolicyRule{
	{NonResourceURLs: []string{"/api", "/api/*", "/apis", "/apis/*", "/version", "/version/"}, Verbs: []string{"get"}},
	{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"selfsubjectaccessreviews", "selfsubjectrulesreviews"}, Verbs: []string{"create"}},
	{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"selfsubjectreviews"}, Verbs: []string{"create"}},
	{APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"validatingadmissionpolicybindings"}, Verbs: []string{"get"}},
	{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}},
}

// TestConstrainedRoles: as another account the manager may do exactly what the roles of a mover grant. With -update the
// test writes the roles.
func TestConstrainedRoles(t *testing.T) {
	role, err := managerFiles.ReadFile("rbac/manager_role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(role), legacyRule) != 1 {
		t.Fatal("the rule that is to be replaced is not in rbac/manager_role.yaml as it stands here")
	}
	files := map[string]string{
		"impersonation/manager_role.yaml":      fmt.Sprintf(generated, "rbac/manager_role.yaml") + strings.Replace(string(role), legacyRule, constrainedRule, 1),
		"impersonation/impersonated_role.yaml": impersonatedRoles(t),
	}
	for name, want := range files {
		if *update {
			if err := os.WriteFile(name, []byte(want), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := impersonationFiles.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s is out of date: make generate (-want +got):\n%s", name, diff)
		}
	}
}

// impersonatedRoles returns the roles of the manager as another account, which match the roles of movers. Reading
// Secrets and writing roles are separate roles, which the installation binds to no account.
func impersonatedRoles(t *testing.T) string {
	t.Helper()
	objects, err := ManagerObjects()
	if err != nil {
		t.Fatal(err)
	}
	usual, copies := slices.Clone(furtherRules), []rbacv1.PolicyRule{}
	for _, object := range objects {
		name := object.GetName()
		if object.GetKind() != "ClusterRole" || !strings.HasPrefix(name, "sliceshift-mover") {
			continue
		}
		rules := managerObject[rbacv1.ClusterRole](t, "ClusterRole", name).Rules
		if strings.HasPrefix(name, "sliceshift-mover-dependencies") {
			copies = append(copies, rules...)
		} else {
			usual = append(usual, rules...)
		}
	}
	return fmt.Sprintf(generated, "the roles of movers in rbac") + `#
# What the manager may do as the ServiceAccount that a Migration names, where the API server constrains
# impersonation. By itself it is worth nothing: who acts as an account needs the right to impersonate that one, and
# the account needs the right to what is done.
` + roleText("sliceshift-impersonated", usual) + `---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: sliceshift-impersonated
  labels:
    app.kubernetes.io/name: sliceshift
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: sliceshift-impersonated
subjects:
- kind: ServiceAccount
  name: sliceshift-manager
  namespace: sliceshift-system
---
# The same for Migrations that copy what pods depend on (spec.dependencies.mode: Copy). It reads and writes Secrets,
# Roles and RoleBindings as any account that may, so nobody has it by the installation.
` + roleText("sliceshift-impersonated-dependencies", copies)
}

// roleText returns a ClusterRole that lets its holder do as another account what the rules grant.
func roleText(name string, rules []rbacv1.PolicyRule) string {
	var text strings.Builder
	fmt.Fprintf(&text, `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: %s
  labels:
    app.kubernetes.io/name: sliceshift
rules:
`, name)
	for _, rule := range united(rules) {
		if len(rule.NonResourceURLs) > 0 {
			fmt.Fprintf(&text, "- nonResourceURLs: [%s]\n", strings.Join(rule.NonResourceURLs, ", "))
		} else {
			fmt.Fprintf(&text, "- apiGroups: [%s]\n  resources: [%s]\n", strings.Join(quoted(rule.APIGroups), ", "), strings.Join(rule.Resources, ", "))
		}
		text.WriteString("  verbs:\n")
		for _, verb := range rule.Verbs {
			fmt.Fprintf(&text, "  - impersonate-on:serviceaccount:%s\n", verb)
		}
	}
	return text.String()
}

// united merges the rules: first all verbs of each resource, then all resources of a group with the same verbs.
func united(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	verbs := map[string][]string{}
	var names []string
	var all []rbacv1.PolicyRule
	for _, rule := range rules {
		if len(rule.NonResourceURLs) > 0 {
			all = append(all, rule)
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				name := group + " " + resource
				if verbs[name] == nil {
					names = append(names, name)
				}
				verbs[name] = append(verbs[name], rule.Verbs...)
			}
		}
	}
	slices.Sort(names)
	for _, name := range names {
		group, resource, _ := strings.Cut(name, " ")
		slices.Sort(verbs[name])
		next := rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: slices.Compact(verbs[name])}
		same := slices.IndexFunc(all, func(r rbacv1.PolicyRule) bool {
			return slices.Equal(r.APIGroups, next.APIGroups) && slices.Equal(r.Verbs, next.Verbs)
		})
		if same < 0 {
			all = append(all, next)
			continue
		}
		all[same].Resources = append(all[same].Resources, resource)
	}
	return all
}

// quoted quotes the empty group, as YAML requires.
func quoted(groups []string) []string {
	all := slices.Clone(groups)
	for i, group := range all {
		if group == "" {
			all[i] = `""`
		}
	}
	return all
}
