package migration

import (
	"context"
	"errors"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// object is a pointer to T that is an API object.
type object[T any] interface {
	*T
	client.Object
}

// get reads one object: nil without an error when the API server says that it does
// not exist. A 404 that is no Status of Kubernetes says nothing about the object: it
// comes from a proxy on the way, or for a kind that is not served now.
func get[T any, P object[T]](ctx context.Context, reader client.Reader, key client.ObjectKey) (*T, error) {
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

// together runs reads at the same time and joins their errors.
func together(reads ...func() error) error {
	errs := make([]error, len(reads))
	var group sync.WaitGroup
	for i, read := range reads {
		group.Go(func() { errs[i] = read() })
	}
	group.Wait()
	return errors.Join(errs...)
}
