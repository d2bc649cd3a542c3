package main

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	slicesapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// awaitTaken waits until the controller of the new object counts all pods as its own.
func (a *adoption) awaitTaken(ctx context.Context) error {
	ticker, limit := a.clock.NewTicker(pollEvery), a.clock.NewTimer(a.timeout)
	defer ticker.Stop()
	defer limit.Stop()
	for {
		taken, err := a.taken(ctx)
		if taken {
			return nil
		}
		select {
		case <-ctx.Done():
			return a.untaken(exitFailure, causeOf(ctx))
		case <-limit.C():
			return a.untaken(exitTimeout, errors.Join(fmt.Errorf("its controller has not taken the pods over after %s", a.timeout), err))
		case <-ticker.C():
		}
	}
}

// taken says whether the status of the new object is that of its controller, with all pods.
func (a *adoption) taken(ctx context.Context) (bool, error) {
	found, err := a.get(ctx, a.into)
	if err != nil || found == nil {
		return false, err
	}
	var s state
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, &s); err != nil {
		return false, err
	}
	return s.Status.ObservedGeneration > 0 && s.Spec.Replicas != nil && s.Status.Replicas >= *s.Spec.Replicas, nil
}

// untaken says that the change is made, and what to look at.
func (a *adoption) untaken(code int, err error) error {
	look := fmt.Sprintf("kubectl rollout status statefulset/%s -n %s", a.name, a.namespace)
	if a.into == slicesapi.GroupVersion {
		look = fmt.Sprintf("%s rollout status %s -n %s", a.program, a.name, a.namespace)
	}
	return &exitError{code: code, err: fmt.Errorf("%s is created in cluster %s, and the pods run: %w; see whether its controller runs: %s",
		a.title(a.into), a.connection.Name(), err, look)}
}
