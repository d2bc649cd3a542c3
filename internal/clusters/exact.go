package clusters

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/api/tolerant"
)

// exact rejects answers about an object other than the requested one, because the result is used for the requested object.
// It also rejects objects with unreadable fields.
type exact struct {
	client.Client
	cluster string
}

// Get implements client.Reader. It reads at most as much as one watch event may have.
func (e exact) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	if err := e.same(key, object, e.Client.Get(AtMost(ctx, MaxEvent), key, object, opts...)); err != nil {
		return err
	}
	return whole(e.cluster, key, object)
}

// whole returns an error if fields of an answer were left out, because decisions need the whole object.
func whole(cluster string, key client.ObjectKey, object any) error {
	if err := tolerant.Check(object); err != nil {
		return fmt.Errorf("cluster %s: the stored object %s cannot be read: %w; correct it with kubectl edit, which shows it as stored", cluster, strings.Trim(key.String(), "/"), err)
	}
	return nil
}

// List implements client.Reader.
func (e exact) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := e.Client.List(ctx, list, opts...); err != nil {
		return err
	}
	var options client.ListOptions
	options.ApplyOptions(opts)
	if err := whole(e.cluster, client.ObjectKey{Namespace: options.Namespace}, list); err != nil {
		return err
	}
	if options.Namespace == "" {
		return nil
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		object, err := meta.Accessor(item)
		if err != nil || object.GetNamespace() == options.Namespace {
			return err
		}
		return e.another(client.ObjectKey{Namespace: options.Namespace}, client.ObjectKey{Namespace: object.GetNamespace(), Name: object.GetName()})
	})
}

// Create implements client.Writer.
func (e exact) Create(ctx context.Context, object client.Object, opts ...client.CreateOption) error {
	key := client.ObjectKeyFromObject(object)
	return e.same(key, object, e.Client.Create(ctx, object, opts...))
}

// Patch implements client.Writer.
func (e exact) Patch(ctx context.Context, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
	key := client.ObjectKeyFromObject(object)
	return e.same(key, object, e.Client.Patch(ctx, object, patch, opts...))
}

// Update implements client.Writer.
func (e exact) Update(ctx context.Context, object client.Object, opts ...client.UpdateOption) error {
	key := client.ObjectKeyFromObject(object)
	return e.same(key, object, e.Client.Update(ctx, object, opts...))
}

func (e exact) same(asked client.ObjectKey, object client.Object, err error) error {
	if got := client.ObjectKeyFromObject(object); err == nil && asked.Name != "" && got != asked {
		return e.another(asked, got)
	}
	return err
}

// another returns an error that is not a Status of Kubernetes, because the result of the request is unknown.
func (e exact) another(asked, got client.ObjectKey) error {
	return fmt.Errorf("cluster %s answered about another object, %q instead of %q; check the address in the kubeconfig", e.cluster, got, asked)
}
