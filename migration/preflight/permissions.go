package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	slicesapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// right is one rule that a migration needs on a side.
type right struct {
	group, resource string
	verbs           string
	// name limits the right to one object; empty: all.
	name string
	// clusterWide is true for resources without a namespace.
	clusterWide bool
}

// named is one verb of the right, as kubectl writes it.
func (r right) named(verb string) string {
	resource := r.resource
	if r.group == slicesapi.GroupVersion.Group {
		resource += "." + r.group
	}
	return strings.TrimSpace(verb + " " + resource + " " + r.name)
}

// rights are what a migration needs on both sides, and no more; a rollback needs
// of each what the way out needs of the other. The shipped ClusterRoles grant
// exactly these.
func rights(m *api.Migration, at endpoint.Endpoint) []right {
	services, exports := "get list watch create", "get create delete"
	named := m.Spec.Services.PerOrdinal == api.PerOrdinalExport
	if named {
		services, exports = services+" patch delete", "get list create patch delete"
	}
	rules := []right{
		{group: "apps", resource: "statefulsets", verbs: "get list watch create patch delete"},
		{resource: "pods", verbs: "get list watch"},
		{group: "policy", resource: "poddisruptionbudgets", verbs: "get list watch create patch delete"},
		{resource: "persistentvolumeclaims", verbs: "get list watch create patch delete"},
		{resource: "services", verbs: services},
		{resource: "persistentvolumes", verbs: "get list watch create patch delete", clusterWide: true},
		{group: "storage.k8s.io", resource: "volumeattachments", verbs: "list watch", clusterWide: true},
		{resource: "namespaces", name: metav1.NamespaceSystem, verbs: "get", clusterWide: true},
	}
	if at.APIVersion == endpoint.SliceVersion {
		rules = append(rules, right{group: slicesapi.GroupVersion.Group, resource: "statefulsets", verbs: "get list watch create patch delete"})
	}
	if m.Spec.Services.Export || named {
		rules = append(rules, right{group: "multicluster.x-k8s.io", resource: "serviceexports", verbs: exports})
	}
	return rules
}

// missingOf asks the API server of a side which of the rights are not granted.
func missingOf(ctx context.Context, at endpoint.Endpoint, rules []right) (*plan.Finding, error) {
	var mu sync.Mutex
	var lacking []string
	var checks []func() error
	for _, rule := range rules {
		for verb := range strings.FieldsSeq(rule.verbs) {
			checks = append(checks, func() error {
				review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
					ResourceAttributes: &authorizationv1.ResourceAttributes{Group: rule.group, Resource: rule.resource, Name: rule.name, Verb: verb, Namespace: at.Namespace},
				}}
				if rule.clusterWide {
					review.Spec.ResourceAttributes.Namespace = ""
				}
				if err := at.Live.Create(ctx, review); err != nil {
					return err
				}
				if !review.Status.Allowed {
					mu.Lock()
					defer mu.Unlock()
					lacking = append(lacking, rule.named(verb))
				}
				return nil
			})
		}
	}
	if err := endpoint.Together(checks...); err != nil || len(lacking) == 0 {
		return nil, err
	}
	slices.Sort(lacking)
	return &plan.Finding{
		Reason: api.ReasonPermissionMissing, Object: at.Object(),
		Message: fmt.Sprintf("the identity used in cluster %s may not: %s (namespace %s)", at.Cluster, strings.Join(lacking, ", "), at.Namespace),
		Remedy:  plan.RemedyRights,
	}, nil
}

// MissingPermissions finds the rights that are missing on either side.
func (e *Inspector) MissingPermissions(ctx context.Context, m *api.Migration) ([]plan.Finding, error) {
	var findings []plan.Finding
	for _, p := range []endpoint.Endpoint{e.Source, e.Destination} {
		finding, err := missingOf(ctx, p, rights(m, p))
		if err != nil {
			return nil, fmt.Errorf("cluster %s: %w", p.Cluster, err)
		}
		if finding != nil {
			findings = append(findings, *finding)
		}
	}
	return findings, nil
}
