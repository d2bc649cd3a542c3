// Package page serves the web page of moves from a manager. A user sends a token; the page asks the API server who the
// user is and whether the user may open the page. All other requests to the API server use the user's token.
package page

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/cmd/migrate/move/ui/server"
)

// Limits in requests per second to the API server: for all reviews together, and for one request to the page.
const (
	qps   = 20
	burst = 40
)

// gate decides which users may use the page.
type gate struct {
	who       authenticationclient.TokenReviewInterface
	may       authorizationclient.SubjectAccessReviewInterface
	anonymous *rest.Config
	scheme    *runtime.Scheme
	mapper    meta.RESTMapper
}

// newGate uses the manager's own permissions only to create reviews in its own cluster. All users share the mapper,
// because it holds only discovery data.
func newGate(local *rest.Config, scheme *runtime.Scheme, mapper meta.RESTMapper) (*gate, error) {
	local = rest.CopyConfig(local)
	local.QPS, local.Burst = qps, burst
	who, err := authenticationclient.NewForConfig(local)
	if err != nil {
		return nil, fmt.Errorf("asking who uses the page: %w", err)
	}
	may, err := authorizationclient.NewForConfig(local)
	if err != nil {
		return nil, fmt.Errorf("asking who may use the page: %w", err)
	}
	anonymous := rest.AnonymousClientConfig(local) // without the manager's credentials
	anonymous.UserAgent = local.UserAgent + " page"
	return &gate{who: who.TokenReviews(), may: may.SubjectAccessReviews(), anonymous: anonymous, scheme: scheme, mapper: mapper}, nil
}

// admit returns a client for the cluster that uses only the given token. It caches nothing, so revoked tokens and
// permissions take effect with the next request.
func (g *gate) admit(ctx context.Context, token, method string) (client.WithWatch, error) {
	user, err := g.identify(ctx, token)
	if err != nil {
		return nil, err
	}
	if err := g.authorize(ctx, user, strings.ToLower(method)); err != nil {
		return nil, err
	}
	config := rest.CopyConfig(g.anonymous)
	config.BearerToken = token
	return client.NewWithWatch(config, client.Options{Scheme: g.scheme, Mapper: g.mapper})
}

// identify returns the user of a token.
func (g *gate) identify(ctx context.Context, token string) (authenticationv1.UserInfo, error) {
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	answer, err := g.who.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return authenticationv1.UserInfo{}, fmt.Errorf("asking whose the token is: %w", err)
	}
	if !answer.Status.Authenticated || answer.Status.User.Username == "" {
		return authenticationv1.UserInfo{}, server.Denied{Code: http.StatusUnauthorized, Message: "the API server does not know this token, or it has expired: make another one"}
	}
	return answer.Status.User, nil
}

// authorize returns an error unless the user may use the page.
func (g *gate) authorize(ctx context.Context, user authenticationv1.UserInfo, verb string) error {
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: server.RemotePath, Verb: verb},
	}}
	answer, err := g.may.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("asking what user %s may do: %w", user.Username, err)
	}
	if !answer.Status.Allowed {
		return server.Denied{Code: http.StatusForbidden, Message: fmt.Sprintf("user %s may not %s %s, the page of the manager: bind the ClusterRole sliceshift-page-user to them", user.Username, verb, server.RemotePath)}
	}
	return nil
}
