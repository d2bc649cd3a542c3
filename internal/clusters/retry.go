package clusters

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/cenkalti/backoff/v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// retryFor limits the retries of one read. The caller reports longer failures.
const retryFor = 500 * time.Millisecond

// retrying retries reads whose connection failed.
type retrying struct{ client.Client }

// Get implements client.Reader.
func (r retrying) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	return repeat(ctx, func() error { return r.Client.Get(ctx, key, object, opts...) })
}

// List implements client.Reader.
func (r retrying) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return repeat(ctx, func() error { return r.Client.List(ctx, list, opts...) })
}

func repeat(ctx context.Context, read func() error) error {
	policy := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(20*time.Millisecond),
		backoff.WithMaxElapsedTime(retryFor),
	)
	return backoff.Retry(func() error {
		err := read()
		if err != nil && !passing(err) {
			return backoff.Permanent(err)
		}
		return err
	}, backoff.WithContext(policy, ctx))
}

// passing reports whether an error of a read may be transient. A timeout is not retried, because it has already taken long.
func passing(err error) bool {
	var netErr net.Error
	if errors.As(err, &netErr) && netErr.Timeout() {
		return false
	}
	return utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) ||
		utilnet.IsHTTP2ConnectionLost(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err)
}
