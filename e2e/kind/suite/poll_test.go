package suite

import (
	"context"

	"k8s.io/apimachinery/pkg/util/wait"
)

// pollUntil polls a condition until it holds.
func pollUntil(ctx context.Context, condition func(context.Context) (bool, error)) error {
	return wait.PollUntilContextCancel(ctx, poll, true, condition)
}
