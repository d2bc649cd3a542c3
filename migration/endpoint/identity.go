package endpoint

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

// Identity returns the user name of the side's client; empty if the API server does not report it, as before
// Kubernetes 1.28.
func (p Endpoint) Identity(ctx context.Context) (user string, err error) {
	review := &authenticationv1.SelfSubjectReview{}
	err = p.Live.Create(ctx, review)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err) || meta.IsNoMatchError(err) {
		return "", nil
	}
	return review.Status.UserInfo.Username, err
}

// May reports whether the side's client may do something, by the answer of its API server.
func (p Endpoint) May(ctx context.Context, do authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &do}}
	err := p.Live.Create(ctx, review)
	return err == nil && review.Status.Allowed, err
}

// SameNamespace reports whether the two sides are in one namespace of one cluster.
func (e *Pair) SameNamespace() bool {
	return e.SameCluster() && e.Source.Namespace == e.Destination.Namespace
}
