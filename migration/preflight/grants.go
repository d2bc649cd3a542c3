package preflight

import (
	"context"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sliceshift/sliceshift/migration/endpoint"
)

// grants are the rights of an identity in a namespace, as one answer of its API server lists them.
type grants []authorizationv1.ResourceRule

// grantsOf asks for all rights at once, where some thirty single questions would be asked instead.
// Where the answer says that it is incomplete it is of no use: an authorizer that lists nothing may
// refuse what another one lists.
func grantsOf(ctx context.Context, at endpoint.Endpoint) (grants, error) {
	review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: at.Namespace}}
	err := at.Live.Create(ctx, review)
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, nil // it does not list them: each right is asked for by itself
	case err != nil:
		return nil, err
	case review.Status.Incomplete:
		return nil, nil
	default:
		return review.Status.ResourceRules, nil
	}
}

// allow says whether a verb of a right is granted. Of what is in no namespace it never is: the list
// does not tell what a RoleBinding grants, which counts for nothing there.
func (g grants) allow(rule Rule, verb string) bool {
	return !rule.ClusterWide && slices.ContainsFunc(g, func(r authorizationv1.ResourceRule) bool {
		named := len(r.ResourceNames) == 0 || rule.Name != "" && slices.Contains(r.ResourceNames, rule.Name)
		return named && among(r.Verbs, verb) && among(r.APIGroups, rule.Group) && among(r.Resources, rule.Resource)
	})
}

// among says whether a rule names something, or all there is.
func among(names []string, name string) bool {
	return slices.Contains(names, name) || slices.Contains(names, "*")
}

// mayDo asks for one verb of a right.
func mayDo(ctx context.Context, at endpoint.Endpoint, rule Rule, verb string) (bool, error) {
	resource, sub, _ := strings.Cut(rule.Resource, "/")
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Group: rule.Group, Resource: resource, Subresource: sub, Name: rule.Name, Verb: verb, Namespace: at.Namespace},
	}}
	if rule.ClusterWide {
		review.Spec.ResourceAttributes.Namespace = ""
	}
	err := at.Live.Create(ctx, review)
	return review.Status.Allowed, err
}
