package preflight

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes/snapshot/manifest"
)

// Rule is a right that is needed on a side.
type Rule struct {
	Group, Resource string
	// Verbs are separated by spaces.
	Verbs string
	// Name limits the right to one object; empty: all.
	Name string
	// ClusterWide is true for resources without a namespace.
	ClusterWide bool
}

// named returns one verb of the right in kubectl's notation.
func (r Rule) named(verb string) string {
	resource := r.Resource
	if r.Resource == "statefulsets" && r.Group != "apps" {
		resource += "." + r.Group
	}
	return strings.TrimSpace(verb + " " + resource + " " + r.Name)
}

// rights returns the rights that a migration needs on both sides. They include those for a rollback, which swaps the
// sides, and those for the checks. The shipped ClusterRoles grant exactly these.
func rights(m *api.Migration, at endpoint.Endpoint) []Rule {
	services, exports := "get list watch create", "get create delete"
	asked := m.AcceptedServices()
	switch {
	case asked.NamesOrdinals():
		services, exports = services+" patch delete", "get list create patch delete"
	case moves(m, api.MethodCopy): // the Service of a receiver is replaced to change its type
		services += " delete"
	}
	rules := []Rule{
		{Group: "apps", Resource: "statefulsets", Verbs: "get list watch create patch delete"},
		{Resource: "pods", Verbs: "get list watch"},
		{Group: "policy", Resource: "poddisruptionbudgets", Verbs: "get list watch create patch delete"},
		{Resource: "persistentvolumeclaims", Verbs: "get list watch create patch delete"},
		{Resource: "services", Verbs: services},
		{Resource: "persistentvolumes", Verbs: "get list watch create patch delete", ClusterWide: true},
		{Group: "storage.k8s.io", Resource: "volumeattachments", Verbs: "list watch", ClusterWide: true},
		{Resource: "namespaces", Name: metav1.NamespaceSystem, Verbs: "get", ClusterWide: true},
	}
	if m.Spec.Storage != nil {
		rules = append(rules, Rule{Group: "storage.k8s.io", Resource: "storageclasses", Verbs: "get list", ClusterWide: true})
	}
	if group, _, _ := strings.Cut(at.Kind().APIVersion(), "/"); group != "apps" {
		rules = append(rules, Rule{Group: group, Resource: "statefulsets", Verbs: "get list watch create patch delete"})
	}
	if asked.Exports() || m.ExportsReceivers() {
		rules = append(rules, Rule{Group: "multicluster.x-k8s.io", Resource: "serviceexports", Verbs: exports})
	}
	for _, check := range checks {
		rules = append(rules, check.Rules...)
	}
	return rules
}

// podRights returns the additional rights of method Copy, to its pods, and of a migration in place, which evicts pods.
func podRights(m *api.Migration) []Rule {
	switch {
	case moves(m, api.MethodCopy):
	case m.Spec.Storage != nil:
		return []Rule{{Resource: "pods/eviction", Verbs: "create"}}
	default:
		return nil
	}
	rules := []Rule{{Resource: "pods", Verbs: "create patch delete"}}
	if m.Spec.Storage != nil {
		rules = append(rules, Rule{Resource: "pods/eviction", Verbs: "create"})
	}
	return rules
}

// relayRights returns the additional rights of a relay, on both sides.
func relayRights(m *api.Migration) []Rule {
	relays := func(v api.VolumeSpec) bool {
		return v.Method == api.MethodCopy && v.Copy.Transport == api.TransportRelay
	}
	if !slices.ContainsFunc(m.VolumesAsAccepted(), relays) {
		return nil
	}
	return []Rule{{Resource: "pods/portforward", Verbs: "create"}}
}

// remedyRelayRights returns the fix for a missing right of a relay. The ClusterRole of an older version does not
// grant it.
func remedyRelayRights(at endpoint.Endpoint) string {
	return fmt.Sprintf("bind the ClusterRole sliceshift-mover-pods of this version to the identity that is used there, in namespace %s; or give it that right alone: %s, and bind it; "+
		"or set copy.transport to Direct, with copy.serviceType",
		at.Namespace, at.Kubectl().Do("create", "role", "sliceshift-relay", "-n", at.Namespace, "--verb=create", "--resource=pods/portforward"))
}

// moves reports whether a claim template moves by the method.
func moves(m *api.Migration, method api.VolumeMethod) bool {
	return slices.ContainsFunc(m.VolumesAsAccepted(), func(v api.VolumeSpec) bool { return v.Method == method })
}

// snapshotRights returns the additional rights of method Snapshot, on both sides.
func snapshotRights(m *api.Migration) []Rule {
	if !moves(m, api.MethodSnapshot) {
		return baseRights(m)
	}
	return []Rule{
		{Resource: "pods", Verbs: "create delete"},
		{Group: manifest.Group, Resource: "volumesnapshots", Verbs: "get create delete"},
		{Group: manifest.Group, Resource: "volumesnapshotcontents", Verbs: "get create patch delete", ClusterWide: true},
		{Group: manifest.Group, Resource: "volumesnapshotclasses", Verbs: "list", ClusterWide: true},
	}
}

// baseRights returns the additional rights of warm passes of method Copy if the user has selected snapshots for them.
func baseRights(m *api.Migration) []Rule {
	if !slices.ContainsFunc(m.VolumesAsAccepted(), func(v api.VolumeSpec) bool {
		return v.Method == api.MethodCopy && v.Copy.Warm == api.CopyWarmSnapshot
	}) {
		return nil
	}
	return []Rule{
		{Group: manifest.Group, Resource: "volumesnapshots", Verbs: "get create delete"},
		{Group: manifest.Group, Resource: "volumesnapshotclasses", Verbs: "list", ClusterWide: true},
	}
}

// MissingPermissions finds missing rights on either side.
func (e *Inspector) MissingPermissions(ctx context.Context, m *api.Migration) ([]plan.Finding, error) {
	var missing [2][]plan.Finding
	of := func(i int, at endpoint.Endpoint) func() error {
		return func() (err error) {
			missing[i], err = missingOf(ctx, at, requiredOf(m, at)...)
			return err
		}
	}
	err := endpoint.Together(of(0, e.Source), of(1, e.Destination))
	return slices.Concat(missing[:]...), err
}

// required holds rights that a move needs, and the remedy if one is missing.
type required struct {
	rules  []Rule
	remedy string
}

// requiredOf returns the rights that a move needs on one side, by remedy.
func requiredOf(m *api.Migration, at endpoint.Endpoint) []required {
	return []required{
		{rights(m, at), plan.RemedyRights},
		{copyRights(m, at), plan.RemedyDependencyRights},
		{podRights(m), plan.RemedyMoverRights},
		{relayRights(m), remedyRelayRights(at)},
		{snapshotRights(m), plan.RemedySnapshotRights},
	}
}

// missingOf returns the needs that are not granted on a side, by the answers of its API server. If the identity is
// impersonated, it also checks which rights the manager may not use as that identity.
func missingOf(ctx context.Context, at endpoint.Endpoint, needs ...required) ([]plan.Finding, error) {
	lacking, err := lackingOf(ctx, at, needs)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", at.Cluster, err)
	}
	unlent, err := notLent(ctx, at, needs)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", at.Cluster, err)
	}
	var findings []plan.Finding
	for i, need := range needs {
		switch {
		case len(lacking[i]) > 0:
			findings = append(findings, plan.Finding{
				Check: checkRights, Reason: api.ReasonPermissionMissing, Object: at.Object(),
				Message: fmt.Sprintf("the identity used in cluster %s may not: %s (namespace %s)", at.Cluster, strings.Join(lacking[i], ", "), at.Namespace),
				Remedy:  need.remedy,
			})
		case unlent != nil && unlent[i] != nil:
			findings = append(findings, *unlent[i])
		}
	}
	return findings, nil
}

// lackingOf returns the rights of each need that are not granted, in kubectl's notation.
func lackingOf(ctx context.Context, at endpoint.Endpoint, needs []required) ([][]string, error) {
	known, err := grantsOf(ctx, at, needs)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	refused := map[Rule]bool{}
	var reviews []func() error
	for one := range rightsOf(needs) {
		if _, asked := refused[one]; asked || known.allow(one) {
			continue
		}
		refused[one] = false
		reviews = append(reviews, func() error {
			allowed, err := mayDo(ctx, at, one)
			mu.Lock()
			defer mu.Unlock()
			refused[one] = !allowed
			return err
		})
	}
	if err := endpoint.Together(reviews...); err != nil {
		return nil, err
	}
	lacking := make([][]string, len(needs))
	for i := range needs {
		for one := range rightsOf(needs[i : i+1]) {
			if name := one.named(one.Verbs); refused[one] && !slices.Contains(lacking[i], name) {
				lacking[i] = append(lacking[i], name)
			}
		}
		slices.Sort(lacking[i])
	}
	return lacking, nil
}

// rightsOf returns all rights of the needs, each with one verb.
func rightsOf(needs []required) iter.Seq[Rule] {
	return func(yield func(Rule) bool) {
		for _, need := range needs {
			for _, rule := range need.rules {
				for verb := range strings.FieldsSeq(rule.Verbs) {
					rule.Verbs = verb
					if !yield(rule) {
						return
					}
				}
			}
		}
	}
}

// mayDo reviews a right with one verb.
func mayDo(ctx context.Context, at endpoint.Endpoint, rule Rule) (bool, error) {
	resource, sub, _ := strings.Cut(rule.Resource, "/")
	do := authorizationv1.ResourceAttributes{Group: rule.Group, Resource: resource, Subresource: sub, Name: rule.Name, Verb: rule.Verbs, Namespace: at.Namespace}
	if rule.ClusterWide {
		do.Namespace = ""
	}
	return at.May(ctx, do)
}
