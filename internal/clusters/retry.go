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

// retryFor bounds the repeats of one read: longer troubles are for the caller to
// report.
const retryFor = 500 * time.Millisecond

// retrying repeats reads that failed on the way.
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

// passing says whether an error of a read may be over in a moment. A time-out is
// not: it has taken its time already.
func passing(err error) bool {
	var netErr net.Error
	if errors.As(err, &netErr) && netErr.Timeout() {
		return false
	}
	return utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) ||
		utilnet.IsHTTP2ConnectionLost(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err)
}
