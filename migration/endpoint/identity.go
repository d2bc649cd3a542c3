package endpoint

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
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

// SameNamespace reports whether the two sides are in one namespace of one cluster.
func (e *Pair) SameNamespace() bool {
	return e.SameCluster() && e.Source.Namespace == e.Destination.Namespace
}
