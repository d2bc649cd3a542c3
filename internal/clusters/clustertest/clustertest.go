// Package clustertest provides API servers for tests that keep objects in memory.
package clustertest

import (
	"context"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sliceshift/sliceshift/internal/clusters"
)

// Hooks intercept the requests between a client and the API server.
type Hooks = interceptor.Funcs

// New returns the client of an API server with objects.
func New(objects ...client.Object) client.WithWatch { return Hooked(Hooks{}, objects...) }

// Hooked is New with hooks.
func Hooked(hooks Hooks, objects ...client.Object) client.WithWatch {
	return builder(hooks, objects).Build()
}

// Indexed is Hooked for code that also finds objects by the indexes of a cache.
func Indexed(hooks Hooks, objects ...client.Object) client.WithWatch {
	b := builder(hooks, objects)
	for _, index := range clusters.Indexes() {
		b = b.WithIndex(index.Object, index.Field, index.Values)
	}
	return b.Build()
}

func builder(hooks Hooks, objects []client.Object) *fake.ClientBuilder {
	return fake.NewClientBuilder().WithScheme(clusters.NewScheme()).WithObjects(objects...).WithInterceptorFuncs(Known(hooks))
}

// Known adds to hooks that a SelfSubjectReview reports the user jane.
func Known(hooks Hooks) Hooks {
	asked := hooks.Create
	hooks.Create = func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
		if asked != nil {
			return asked(ctx, knows{c}, o, options...)
		}
		return knows{c}.Create(ctx, o, options...)
	}
	return hooks
}

// knows answers a SelfSubjectReview, which is not a stored object.
type knows struct{ client.WithWatch }

// Create implements client.Client.
func (k knows) Create(ctx context.Context, o client.Object, options ...client.CreateOption) error {
	if review, is := o.(*authenticationv1.SelfSubjectReview); is {
		review.Status.UserInfo.Username = "jane"
		return nil
	}
	return k.WithWatch.Create(ctx, o, options...)
}

// Before calls ask before each read or write, with the verb of the API (for a status: "update status") and the object, which
// may be a list. An error becomes the answer.
func Before(ask func(verb string, object runtime.Object) error) Hooks {
	return Hooks{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			if err := ask("get", o); err != nil {
				return err
			}
			return c.Get(ctx, key, o, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if err := ask("list", list); err != nil {
				return err
			}
			return c.List(ctx, list, options...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			if err := ask("create", o); err != nil {
				return err
			}
			return c.Create(ctx, o, options...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
			if err := ask("patch", o); err != nil {
				return err
			}
			return c.Patch(ctx, o, patch, options...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			if err := ask("delete", o); err != nil {
				return err
			}
			return c.Delete(ctx, o, options...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			if err := ask("patch "+sub, o); err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, o, patch, options...)
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, options ...client.SubResourceUpdateOption) error {
			if err := ask("update "+sub, o); err != nil {
				return err
			}
			return c.SubResource(sub).Update(ctx, o, options...)
		},
	}
}

// Failing answers requests with these verbs with an error.
func Failing(answer error, verbs ...string) Hooks {
	return Before(func(verb string, _ runtime.Object) error {
		if slices.Contains(verbs, verb) {
			return answer
		}
		return nil
	})
}
