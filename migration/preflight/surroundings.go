package preflight

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/preflight/environment"
)

// images warns of images that the destination's nodes may not find.
func images(e *Inspector, s Subject) []plan.Finding {
	return environment.Images(e.Pair, s.Source.Spec.Template.Spec)
}

// nodeSetup warns of node configuration that an administrator must provide.
func nodeSetup(e *Inspector, s Subject) []plan.Finding {
	return environment.NodeSetup(e.Pair, s.Source.Spec.Template.Spec)
}

// outside refuses data outside of claims, unless the user has confirmed that the pods do not need them.
func outside(e *Inspector, s Subject) []plan.Finding {
	return environment.Outside(e.Pair, s.Source, func(volume string) bool { return api.AskedOf(s.Migration.Spec.Volumes, volume).Shared })
}

// schedulers warns of a scheduler that has bound no pod of the destination's cluster. Without the right to list pods
// of all namespaces it checks that of the destination.
func (e *Inspector) schedulers(ctx context.Context, _ *api.Migration, source *appsv1.StatefulSet) ([]plan.Finding, error) {
	if e.SameCluster() {
		return nil, nil
	}
	spec, at := source.Spec.Template.Spec, e.Destination
	name := environment.Scheduler(spec)
	if name == "" {
		return environment.Unscheduled(e.Pair, spec, true, ""), nil
	}
	within, by := "cluster "+at.Cluster, client.MatchingFields{"spec.schedulerName": name}
	var pods corev1.PodList
	err := at.Live.List(ctx, &pods, by)
	if apierrors.IsForbidden(err) {
		within = fmt.Sprintf("namespace %s of cluster %s, the only namespace that may be listed,", at.Namespace, at.Cluster)
		err = at.Live.List(ctx, &pods, by, client.InNamespace(at.Namespace))
	}
	if err != nil {
		return nil, err
	}
	bound := func(pod corev1.Pod) bool { return pod.Spec.NodeName != "" && pod.Spec.SchedulerName == name }
	return environment.Unscheduled(e.Pair, spec, slices.ContainsFunc(pods.Items, bound), within), nil
}

// bindings returns the bindings that apply to the account of the pods at a side: ClusterRoleBindings, RoleBindings of
// the account's namespace, and those of other namespaces that name the account. Without the right to list
// RoleBindings of all namespaces it reads that of the account, and everywhere is false.
func bindings(ctx context.Context, at endpoint.Endpoint, account string) (found environment.Bindings, err error) {
	namespaced, _ := dependencies.KindOf(dependencies.RoleBinding)
	global, _ := dependencies.KindOf(dependencies.ClusterRoleBinding)
	anywhere := at
	anywhere.Namespace = ""
	var ofNamespaces, ofCluster []unstructured.Unstructured
	found.Everywhere = true
	err = endpoint.Together(
		func() (err error) {
			if ofNamespaces, err = anywhere.Dependents(ctx, namespaced); apierrors.IsForbidden(err) {
				found.Everywhere = false
				ofNamespaces, err = at.Dependents(ctx, namespaced)
			}
			return err
		},
		func() (err error) { ofCluster, err = at.Dependents(ctx, global); return err },
	)
	if err != nil {
		return found, err
	}
	for _, binding := range slices.Concat(ofNamespaces, ofCluster) {
		of, elsewhere := dependencies.ClusterRoleBinding, ""
		if namespace := binding.GetNamespace(); namespace != "" {
			of = dependencies.RoleBinding
			if namespace != at.Namespace {
				elsewhere = namespace
			}
		}
		if elsewhere == "" && !dependencies.ReachesIn(&binding, at.Namespace, account) || elsewhere != "" && !dependencies.Names(&binding, at.Namespace, account) {
			continue
		}
		kind, role := dependencies.RoleOf(&binding)
		found.All = append(found.All, environment.Binding{Kind: of, Namespace: elsewhere, Name: binding.GetName(), RoleKind: kind, Role: role})
	}
	return found, nil
}

// accountBindings warns of roles that the account of the pods has at the source only.
func (e *Inspector) accountBindings(ctx context.Context, m *api.Migration, source *appsv1.StatefulSet) ([]plan.Finding, error) {
	if e.SameNamespace() || !environment.UsesAPI(source.Spec.Template.Spec) {
		return nil, nil
	}
	account := dependencies.AccountOf(source.Spec.Template.Spec)
	here, lacking, err := e.boundHere(ctx, account)
	if err != nil || len(lacking) > 0 || len(here.All) == 0 {
		return lacking, err
	}
	there, err := bindings(ctx, e.Destination, account)
	if apierrors.IsForbidden(err) {
		return unread(e.Destination, "list rolebindings and clusterrolebindings", "the account of the pods has the roles there that it has in cluster "+e.Source.Cluster), nil
	}
	if err != nil {
		return nil, err
	}
	copied := m.Spec.Dependencies.Mode == api.DependenciesCopy
	weaker, err := e.weakerRoles(ctx, account, environment.Alike(e.Pair, here, there, copied))
	return append(environment.Unbound(e.Pair, account, here, there, copied), weaker...), err
}

// weakerRoles warns of roles that allow the account less at the destination than roles of the same name at the
// source.
func (e *Inspector) weakerRoles(ctx context.Context, account string, alike []environment.Binding) ([]plan.Finding, error) {
	var here, there [][]rbacv1.PolicyRule
	err := endpoint.Together(
		func() (err error) { here, err = rulesOf(ctx, e.Source, alike); return err },
		func() (err error) { there, err = rulesOf(ctx, e.Destination, alike); return err },
	)
	if apierrors.IsForbidden(err) {
		return unread(e.Destination, "get roles and clusterroles on both sides", "the roles of the pods' ServiceAccount grant there the same permissions as in cluster "+e.Source.Cluster), nil
	}
	if err != nil {
		return nil, err
	}
	var found []plan.Finding
	for i, b := range alike {
		found = append(found, environment.Weaker(e.Pair, account, b, here[i], there[i])...)
	}
	return found, nil
}

// boundHere returns the bindings of the account at the source, read once for all checks, or a finding if they cannot
// be read.
func (e *Inspector) boundHere(ctx context.Context, account string) (environment.Bindings, []plan.Finding, error) {
	here, err := e.reads().bound.of(func() (environment.Bindings, error) { return bindings(ctx, e.Source, account) })
	if apierrors.IsForbidden(err) {
		return here, unread(e.Source, "list rolebindings and clusterrolebindings", "the account of the pods needs none of their roles at the destination"), nil
	}
	return here, nil, err
}

// leaders warns of an application that elects its leader through the API of its cluster.
func (e *Inspector) leaders(ctx context.Context, _ *api.Migration, source *appsv1.StatefulSet) ([]plan.Finding, error) {
	spec := source.Spec.Template.Spec
	if e.SameNamespace() || !environment.UsesAPI(spec) {
		return nil, nil
	}
	if by := environment.Elects(spec, nil); by != "" {
		return environment.TwoLeaders(e.Pair, by), nil
	}
	here, lacking, err := e.boundHere(ctx, dependencies.AccountOf(spec))
	if err != nil || len(lacking) > 0 {
		return nil, err // reported by check "rights of the account"
	}
	rules, err := rulesOf(ctx, e.Source, here.All)
	if apierrors.IsForbidden(err) {
		return unread(e.Source, "get roles and clusterroles", "the pods choose no leader in the API of their cluster (leases, endpoints, configmaps)"), nil
	}
	if err != nil {
		return nil, err
	}
	return environment.TwoLeaders(e.Pair, environment.Elects(spec, slices.Concat(rules...))), nil
}

// ofEverybody lists the ClusterRoles that each cluster grants to all accounts. None of them allows an account to
// write (kubernetes plugin/pkg/auth/authorizer/rbac/bootstrappolicy).
var ofEverybody = []string{"system:basic-user", "system:discovery", "system:public-info-viewer", "system:service-account-issuer-discovery"}

// rulesOf returns the rules of the role of each binding at a side. They are empty for a missing role, and for one of
// another namespace.
func rulesOf(ctx context.Context, at endpoint.Endpoint, bindings []environment.Binding) ([][]rbacv1.PolicyRule, error) {
	rules := make([][]rbacv1.PolicyRule, len(bindings))
	var reads []func() error
	for i, b := range bindings {
		kind, known := dependencies.KindOf(b.RoleKind)
		if !known || b.Namespace != "" || slices.Contains(ofEverybody, b.Role) {
			continue
		}
		reads = append(reads, func() error {
			object, err := at.Dependency(ctx, kind, b.Role, kind.Versions...)
			if err != nil || object == nil {
				return err
			}
			var role rbacv1.ClusterRole
			err = endpoint.ConvertTo(&role, object)
			rules[i] = role.Rules
			return err
		})
	}
	return rules, endpoint.Together(reads...)
}
