package world

import (
	"context"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// knownAs returns an API server that reports the user name of its client; without a user it reports none.
func knownAs(user string) clustertest.Hooks {
	return clustertest.Hooks{Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
		review, is := o.(*authenticationv1.SelfSubjectReview)
		switch {
		case !is:
			return c.Create(ctx, o, options...)
		case user == "":
			return apierrors.NewNotFound(authenticationv1.Resource("selfsubjectreviews"), "")
		}
		review.Status.UserInfo.Username = user
		return nil
	}}
}

// TestK13OwnCredentialsAreNotCopied: no StatefulSet is created whose pods would have the migration's own credentials
// in the destination's namespace. The current template is checked.
func TestK13OwnCredentialsAreNotCopied(t *testing.T) {
	const mover = "system:serviceaccount:shop:mover"
	for name, tc := range map[string]struct {
		user, account, secret, cluster, says string
	}{
		"the account of the migration":               {mover, "mover", "", "2", "ServiceAccount mover"},
		"another account":                            {mover, "web", "", "2", ""},
		"the account of another namespace":           {"system:serviceaccount:other:mover", "mover", "", "2", ""},
		"a user":                                     {"jane", "jane", "", "2", ""},
		"the default account":                        {"system:serviceaccount:shop:default", "", "", "2", "ServiceAccount default"},
		"a Secret of the migration":                  {mover, "web", "west", "2", "Secret west"},
		"a Secret of the migration, nobody is known": {"", "web", "west", "2", "Secret west"},
		"another Secret":                             {mover, "web", "mine", "2", ""},
		"within one namespace":                       {mover, "mover", "west", "1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
			set.Spec.Template.Spec.ServiceAccountName = tc.account
			if tc.secret != "" {
				set.Spec.Template.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: tc.secret}}
			}
			pair := endpointtest.Pair(clustertest.New(set), clustertest.Hooked(knownAs(tc.user)))
			pair.Destination.ID, pair.Destination.Namespace = "2", "shop"
			if tc.cluster == "1" {
				pair.Destination.ID = pair.Source.ID
			}
			m := &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", UID: "m"}}
			m.Spec.Source.KubeConfigSecretRef = &api.SecretKeyReference{Name: "west"}
			_, err := New(m, pair, volumes.Policy{}).Do(t.Context(), plan.Effect{Verb: plan.CreateSet, Side: plan.DestinationSide, Name: "web"})
			if (err == nil) != (tc.says == "") || err != nil && (!strings.Contains(err.Error(), tc.says) || !apierrors.IsForbidden(err)) {
				t.Errorf("%v, want %q", err, tc.says)
			}
		})
	}
}
