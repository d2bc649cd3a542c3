package endpoint

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Object is a pointer to T that is an API object.
type Object[T any] interface {
	*T
	client.Object
}

// Get reads one object. It returns nil without an error if the API server reports that the object does not exist. A
// 404 without a Kubernetes Status does not prove that: it comes from a proxy, or for a kind that is currently not
// served.
func Get[T any, P Object[T]](ctx context.Context, reader client.Reader, key client.ObjectKey) (*T, error) {
	value := P(new(T))
	err := reader.Get(ctx, key, value)
	if apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return (*T)(value), nil
}

// GetAll reads objects by name, concurrently; missing objects are left out.
func GetAll[T any, P Object[T]](ctx context.Context, reader client.Reader, namespace string, names []string) (map[string]*T, error) {
	return GetSome[T, P](ctx, reader, namespace, names, len(names))
}

// GetSome is GetAll with a limit of concurrent reads.
func GetSome[T any, P Object[T]](ctx context.Context, reader client.Reader, namespace string, names []string, most int) (map[string]*T, error) {
	var mu sync.Mutex
	found := make(map[string]*T, len(names))
	reads := make([]func() error, 0, len(names))
	for _, name := range names {
		reads = append(reads, func() error {
			value, err := Get[T, P](ctx, reader, client.ObjectKey{Namespace: namespace, Name: name})
			if value != nil {
				mu.Lock()
				defer mu.Unlock()
				found[name] = value
			}
			return err
		})
	}
	return found, Within(most, reads...)
}
