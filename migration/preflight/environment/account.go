package environment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/component-helpers/auth/rbac/validation"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// Binding is a RoleBinding or a ClusterRoleBinding that applies to the account of the pods.
type Binding struct {
	Kind, Name string
	// Namespace of a RoleBinding in another namespace than the account's.
	Namespace string
	// RoleKind and Role identify the granted role.
	RoleKind, Role string
}

// Bindings holds the bindings of an account at a side.
type Bindings struct {
	All []Binding
	// Everywhere is true if RoleBindings of all namespaces were read.
	Everywhere bool
}

// gives reports whether another binding grants the same role, with the same scope.
func (b Binding) gives(other Binding) bool {
	return other.Kind == b.Kind && other.Namespace == b.Namespace && other.RoleKind == b.RoleKind && other.Role == b.Role
}

// copied reports whether the binding is copied to the destination with the other dependencies.
func (b Binding) copied() bool { return b.Kind == dependencies.RoleBinding && b.Namespace == "" }

// Alike returns the bindings of the source that the destination also has, or will have after the copy of the
// RoleBinding. Copied Roles, and ClusterRoles within one cluster, are left out because they are the same.
func Alike(sides *endpoint.Pair, here, there Bindings, copied bool) []Binding {
	var alike []Binding
	for _, b := range here.All {
		ofCluster, moves := b.RoleKind == dependencies.ClusterRole, copied && b.copied()
		if ofCluster && sides.SameCluster() || !ofCluster && copied || !moves && !slices.ContainsFunc(there.All, b.gives) {
			continue
		}
		alike = append(alike, b)
	}
	return alike
}

// Weaker warns of a role that allows less at the destination than the role of the same name at the source. A missing
// role, like a role without rules, allows nothing.
func Weaker(sides *endpoint.Pair, account string, b Binding, here, there []rbacv1.PolicyRule) []plan.Finding {
	covers, lacking := validation.Covers(there, here)
	if covers {
		return nil
	}
	at, role := sides.Destination, strings.ToLower(b.RoleKind)
	show := []string{role, b.Role, "-o", "yaml"}
	if b.RoleKind == dependencies.Role {
		show = append(show, "-n", at.Namespace)
	}
	return []plan.Finding{{
		Reason: api.ReasonAccountUnbound, Object: fmt.Sprintf("%s %s in cluster %s", b.RoleKind, b.Role, at.Cluster), Warning: true,
		Message: fmt.Sprintf("%s %s of the pods' ServiceAccount %s/%s lacks in cluster %s permissions that it has in cluster %s: %s; the API server there may reject requests of the pods",
			b.RoleKind, b.Role, at.Namespace, account, at.Cluster, sides.Source.Cluster, plan.Listed(ruled(lacking))),
		Remedy: "give it the same rules there before the move, or create it if it is missing: " + at.Kubectl().Do("get", show...),
	}}
}

// ruled describes rules: the verbs and their resources.
func ruled(rules []rbacv1.PolicyRule) []string {
	var all []string
	for i := range rules {
		what := slices.Concat(rules[i].Resources, rules[i].NonResourceURLs)
		if len(rules[i].ResourceNames) > 0 {
			what = append(what, "named "+strings.Join(rules[i].ResourceNames, "|"))
		}
		all = append(all, strings.Join(rules[i].Verbs, "|")+" "+strings.Join(what, " "))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// UsesAPI reports whether the pods have a token of their account.
func UsesAPI(spec corev1.PodSpec) bool {
	if spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken {
		return true
	}
	return slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool {
		return v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool { return s.ServiceAccountToken != nil })
	})
}

// Unbound warns of roles that the account of the pods has at the source and not at the destination. RoleBindings that
// will be copied are left out.
func Unbound(sides *endpoint.Pair, account string, here, there Bindings, copied bool) []plan.Finding {
	at := sides.Destination
	var found []plan.Finding
	for _, b := range here.All {
		unseen := b.Namespace != "" && !there.Everywhere
		if unseen || slices.ContainsFunc(there.All, b.gives) || copied && b.copied() {
			continue
		}
		binding := fmt.Sprintf("%s %s", b.Kind, b.Name)
		if b.Namespace != "" {
			binding = fmt.Sprintf("%s %s/%s", b.Kind, b.Namespace, b.Name)
		}
		found = append(found, plan.Finding{
			Reason: api.ReasonAccountUnbound, Object: binding + " in cluster " + sides.Source.Cluster, Warning: true,
			Message: fmt.Sprintf("%s in cluster %s gives %s %s to ServiceAccount %s/%s of the pods, and nothing gives it to ServiceAccount %s/%s in cluster %s: what the pods ask of the API server there may be refused",
				binding, sides.Source.Cluster, b.RoleKind, b.Role, sides.Source.Namespace, account, at.Namespace, account, at.Cluster),
			Remedy: "bind the role there before the move, and make it first where it is missing: " + at.Kubectl().Do("create", bindCommand(b, at.Namespace, account)...),
		})
	}
	return found
}

// bindCommand returns the arguments with which kubectl creates a binding.
func bindCommand(b Binding, namespace, account string) []string {
	role := "--clusterrole=" + b.Role
	if b.RoleKind == dependencies.Role {
		role = "--role=" + b.Role
	}
	subject := "--serviceaccount=" + namespace + ":" + account
	if b.Kind == dependencies.ClusterRoleBinding {
		return []string{"clusterrolebinding", strings.Join([]string{namespace, account, strings.ReplaceAll(b.Role, ":", "-")}, "-"), role, subject}
	}
	return []string{"rolebinding", b.Name, "-n", cmp.Or(b.Namespace, namespace), role, subject}
}

// locks lists the kinds of objects that applications use to elect a leader through the API of a cluster.
var locks = []struct{ group, resource string }{{"coordination.k8s.io", "leases"}, {"", "endpoints"}, {"", "configmaps"}}

// electing lists prefixes of environment variables that configure leader election in Kubernetes.
var electing = []string{"PATRONI_KUBERNETES_", "KUBERNETES_USE_CONFIGMAPS", "KUBERNETES_SCOPE_LABEL", "KUBERNETES_ROLE_LABEL", "DCS_ENABLE_KUBERNETES_API"}

// Elects returns the evidence that the pods may elect a leader through the API of their cluster; empty if there is
// none.
func Elects(spec corev1.PodSpec, rules []rbacv1.PolicyRule) string {
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, env := range c.Env {
			if slices.ContainsFunc(electing, func(prefix string) bool { return strings.HasPrefix(env.Name, prefix) }) {
				return fmt.Sprintf("env %s of container %s", env.Name, c.Name)
			}
		}
	}
	for _, lock := range locks {
		for i := range rules {
			if gives(rules[i], lock.group, lock.resource) {
				return "the right of their account to write " + lock.resource
			}
		}
	}
	return ""
}

// gives reports whether a rule grants writes to objects of a kind. It ignores resourceNames.
func gives(rule rbacv1.PolicyRule, group, resource string) bool {
	has := func(list []string, wanted ...string) bool {
		return slices.ContainsFunc(list, func(one string) bool { return one == rbacv1.ResourceAll || slices.Contains(wanted, one) })
	}
	return has(rule.APIGroups, group) && has(rule.Resources, resource) && has(rule.Verbs, "create", "update", "patch")
}

// TwoLeaders warns of an application that elects its leader through the API of its cluster. While the application
// runs on both sides, each side may elect one.
func TwoLeaders(sides *endpoint.Pair, by string) []plan.Finding {
	if by == "" || sides.SameNamespace() {
		return nil
	}
	object := sides.Source.Object()
	where := "the API of its cluster"
	if sides.SameCluster() {
		where = "its namespace"
	}
	return []plan.Finding{{
		Reason: api.ReasonElectsLeader, Object: object, Warning: true,
		Message: fmt.Sprintf("the pods of %s may choose a leader in %s, by %s: the moved ones do not see the leader of the others, and there may be two at once, which both take writes", object, where, by),
		Remedy: "where they choose one so, give both sides one store before the move, such as an etcd that both reach, or let the moved side only follow. " +
			"Patroni: the recipe refuses such a set before it stops anything, --recipe patroni",
	}}
}
