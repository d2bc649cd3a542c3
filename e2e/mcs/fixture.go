package mcs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// Member is a cluster of the set.
type Member struct {
	// Name is the cluster's id, with which its exports are labelled.
	Name   string
	Config *rest.Config
}

// member is a Member with its connection.
type member struct {
	name string
	cluster.Cluster
}

// watched returns the kinds that determine the imports of the clusters.
func watched() []client.Object {
	return []client.Object{
		&mcsv1beta1.ServiceExport{}, &mcsv1beta1.ServiceImport{}, &corev1.Service{}, &corev1.Namespace{}, &discoveryv1.EndpointSlice{},
	}
}

// Start runs the controllers until ctx ends. It returns when all exports are known.
func Start(ctx context.Context, set ...Member) error {
	mgr, err := ctrl.NewManager(set[0].Config, ctrl.Options{Metrics: metricsserver.Options{BindAddress: "0"}, Logger: logr.Discard()})
	if err != nil {
		return fmt.Errorf("cluster %s: %w", set[0].Name, err)
	}
	var members []member
	for _, each := range set {
		m, err := connect(ctx, mgr, each)
		if err != nil {
			return fmt.Errorf("cluster %s: %w", each.Name, err)
		}
		members = append(members, m)
	}
	for _, here := range members {
		if err := keep(mgr, &reconciler{here: here, all: members}); err != nil {
			return fmt.Errorf("cluster %s: %w", here.name, err)
		}
	}
	go func() {
		if err := mgr.Start(ctx); err != nil && ctx.Err() == nil {
			panic(fmt.Sprintf("the multi-cluster Services ended: %v", err))
		}
	}()
	for _, each := range members {
		if !each.GetCache().WaitForCacheSync(ctx) {
			return errors.New("cluster " + each.name + ": its objects could not be listed")
		}
	}
	return nil
}

// connect creates a cache of a cluster, which the manager runs.
func connect(ctx context.Context, mgr manager.Manager, m Member) (member, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), mcsv1beta1.Install(scheme)); err != nil {
		return member{}, err
	}
	config := rest.CopyConfig(m.Config)
	config.QPS, config.Burst = 1000, 2000
	at, err := cluster.New(config, func(o *cluster.Options) { o.Scheme, o.Logger = scheme, logr.Discard() })
	if err != nil {
		return member{}, err
	}
	for _, object := range watched() {
		if _, err := at.GetCache().GetInformer(ctx, object); err != nil {
			return member{}, err
		}
	}
	return member{name: m.Name, Cluster: at}, mgr.Add(at)
}

// keep adds the controller that writes to one cluster, triggered by changes in any cluster.
func keep(mgr manager.Manager, r *reconciler) error {
	// A write without an answer must not block its Service for longer.
	const patience = 5 * time.Second
	b := builder.ControllerManagedBy(mgr).Named("mcs-" + r.here.name).WithOptions(controller.Options{
		MaxConcurrentReconciles: 4, ReconciliationTimeout: patience, SkipNameValidation: new(true),
	})
	for _, each := range r.all {
		for _, object := range watched() {
			b = b.WatchesRawSource(changes(each, object, r.all))
		}
	}
	return b.Complete(r)
}

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
