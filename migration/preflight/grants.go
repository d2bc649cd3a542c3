package preflight

import (
	"context"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sliceshift/sliceshift/migration/endpoint"
)

// grants holds the rights of an identity, as listed by its API server. Two requests replace about seventy access reviews.
type grants struct {
	// here are those in a namespace, wide those that apply to objects without a namespace.
	here, wide []authorizationv1.ResourceRule
}

// nowhere is a name that no namespace can have. The rights there come from ClusterRoleBindings alone, and so apply to
// objects without a namespace, too (kubernetes, pkg/registry/rbac/validation/rule.go). Rights listed for an existing
// namespace do not show whether they come from a RoleBinding, which grants nothing outside of it.
const nowhere = "_"

// grantsOf lists the rights of a side's identity, those to objects without a namespace if the needs contain one.
func grantsOf(ctx context.Context, at endpoint.Endpoint, needs []required) (g grants, err error) {
	list := func(namespace string, into *[]authorizationv1.ResourceRule) func() error {
		return func() (err error) {
			*into, err = rulesIn(ctx, at, namespace)
			return err
		}
	}
	lists := []func() error{list(at.Namespace, &g.here)}
	for one := range rightsOf(needs) {
		if one.ClusterWide {
			lists = append(lists, list(nowhere, &g.wide))
			break
		}
	}
	err = endpoint.Together(lists...)
	return g, err
}

// rulesIn lists the rights in a namespace; none if the API server does not list them: each is reviewed then. An
// incomplete answer is not used, because an authorizer that lists nothing may refuse a right that another one lists.
func rulesIn(ctx context.Context, at endpoint.Endpoint, namespace string) ([]authorizationv1.ResourceRule, error) {
	review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}
	err := at.Live.Create(ctx, review)
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err), apierrors.IsBadRequest(err), apierrors.IsInvalid(err), meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, err
	case review.Status.Incomplete:
		return nil, nil
	default:
		return review.Status.ResourceRules, nil
	}
}

// allow reports whether the lists grant a right with one verb.
func (g grants) allow(rule Rule) bool {
	listed := g.here
	if rule.ClusterWide {
		listed = g.wide
	}
	return slices.ContainsFunc(listed, func(r authorizationv1.ResourceRule) bool {
		named := len(r.ResourceNames) == 0 || rule.Name != "" && slices.Contains(r.ResourceNames, rule.Name)
		return named && among(r.Verbs, rule.Verbs) && among(r.APIGroups, rule.Group) && among(r.Resources, rule.Resource)
	})
}

// among reports whether the names contain the name, or a wildcard.
func among(names []string, name string) bool {
	return slices.Contains(names, name) || slices.Contains(names, "*")
}
