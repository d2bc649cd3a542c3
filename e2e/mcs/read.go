package mcs

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// changes returns the multi-cluster Services that a change in one cluster affects.
func changes(at member, object client.Object, all []member) source.Source {
	return source.Kind(at.GetCache(), object, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, changed client.Object) []reconcile.Request {
		if _, ok := changed.(*corev1.Namespace); ok {
			return exportedTo(ctx, changed.GetName(), all)
		}
		return []reconcile.Request{{NamespacedName: serviceOf(changed)}}
	}))
}

// serviceOf returns the multi-cluster Service that an object belongs to.
func serviceOf(object client.Object) types.NamespacedName {
	key := client.ObjectKeyFromObject(object)
	for _, label := range []string{mcsv1beta1.LabelServiceName, discoveryv1.LabelServiceName} {
		if service := object.GetLabels()[label]; service != "" {
			key.Name = service
			break
		}
	}
	return key
}

// exportedTo returns the Services that a new namespace has to import.
func exportedTo(ctx context.Context, namespace string, all []member) []reconcile.Request {
	var requests []reconcile.Request
	for _, each := range all {
		exports := &mcsv1beta1.ServiceExportList{}
		if err := each.GetCache().List(ctx, exports, client.InNamespace(namespace)); err != nil {
			continue // the cache ends with the test
		}
		for i := range exports.Items {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&exports.Items[i])})
		}
	}
	return requests
}

// read returns the exports of a Service, from the caches of all clusters.
func read(ctx context.Context, all []member, key types.NamespacedName) ([]exported, error) {
	var found []exported
	for _, each := range all {
		e, err := readOne(ctx, each, key)
		if err != nil {
			return nil, fmt.Errorf("cluster %s: %w", each.name, err)
		}
		if e != nil {
			found = append(found, *e)
		}
	}
	return found, nil
}

func readOne(ctx context.Context, at member, key types.NamespacedName) (*exported, error) {
	e := &exported{cluster: at.name, export: &mcsv1beta1.ServiceExport{}, service: &corev1.Service{}}
	err := at.GetCache().Get(ctx, key, e.export)
	if apierrors.IsNotFound(err) || err == nil && e.export.DeletionTimestamp != nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	switch err := at.GetCache().Get(ctx, key, e.service); {
	case apierrors.IsNotFound(err):
		e.service = nil
		return e, nil
	case err != nil:
		return nil, err
	}
	list := &discoveryv1.EndpointSliceList{}
	own := client.MatchingLabels{discoveryv1.LabelServiceName: key.Name}
	if err := at.GetCache().List(ctx, list, client.InNamespace(key.Namespace), own); err != nil {
		return nil, err
	}
	e.slices = list.Items
	return e, nil
}
