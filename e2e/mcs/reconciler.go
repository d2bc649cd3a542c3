package mcs

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// reconciler maintains the imports of one cluster.
type reconciler struct {
	here member
	all  []member
}

// Reconcile updates one multi-cluster Service in this cluster. It starts with the endpoints, because a move waits for
// them.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	key := request.NamespacedName
	all, err := read(ctx, r.all, key)
	if err != nil {
		return ctrl.Result{}, err
	}
	wanted := derive(all)
	for _, step := range []func(context.Context, types.NamespacedName, imported) error{r.endpoints, r.imports, r.tell} {
		switch err := step(ctx, key, wanted); {
		case r.closing(err):
			return ctrl.Result{}, nil
		case err != nil:
			return ctrl.Result{}, fmt.Errorf("cluster %s: Service %s: %w", r.here.name, key, err)
		}
	}
	return ctrl.Result{}, nil
}

// closing reports whether the namespace does not exist or is terminating. Its creation triggers another request.
func (r *reconciler) closing(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) || apierrors.IsNotFound(err)
}

// endpoints creates and updates the desired EndpointSlices, and removes the others.
func (r *reconciler) endpoints(ctx context.Context, key types.NamespacedName, wanted imported) error {
	have := &discoveryv1.EndpointSliceList{}
	ours := client.MatchingLabels{mcsv1beta1.LabelServiceName: key.Name, discoveryv1.LabelManagedBy: mirrors}
	if err := r.here.GetClient().List(ctx, have, client.InNamespace(key.Namespace), ours); err != nil {
		return err
	}
	for i := range wanted.slices {
		if err := r.endpointSlice(ctx, &wanted.slices[i], wanted.frontend(key)); err != nil {
			return err
		}
	}
	for i := range have.Items {
		stale := &have.Items[i]
		if !slices.ContainsFunc(wanted.slices, func(w discoveryv1.EndpointSlice) bool { return w.Name == stale.Name }) {
			if err := client.IgnoreNotFound(r.here.GetClient().Delete(ctx, stale)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *reconciler) endpointSlice(ctx context.Context, wanted *discoveryv1.EndpointSlice, frontend string) error {
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: wanted.Namespace, Name: wanted.Name}, AddressType: wanted.AddressType}
	_, err := controllerutil.CreateOrUpdate(ctx, r.here.GetClient(), slice, func() error {
		slice.Labels = maps.Clone(wanted.Labels)
		if frontend != "" {
			slice.Labels[discoveryv1.LabelServiceName] = frontend
		}
		slice.Endpoints, slice.Ports = wanted.Endpoints, wanted.Ports
		return nil
	})
	return err
}

// imports creates the ServiceImport, with an address if it needs one, or removes it.
func (r *reconciler) imports(ctx context.Context, key types.NamespacedName, wanted imported) error {
	object := &mcsv1beta1.ServiceImport{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	if len(wanted.clusters) == 0 {
		return r.remove(ctx, object, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: frontendName(key)}})
	}
	ips, err := r.address(ctx, key, wanted)
	if err != nil {
		return err
	}
	if _, err := controllerutil.CreateOrUpdate(ctx, r.here.GetClient(), object, func() error {
		object.Spec.Type, object.Spec.Ports, object.Spec.IPs = wanted.kind, wanted.ports, ips
		return nil
	}); err != nil {
		return err
	}
	status := mcsv1beta1.ServiceImportStatus{Conditions: object.Status.Conditions, EndpointSliceObjects: object.Status.EndpointSliceObjects}
	for _, cluster := range wanted.clusters {
		status.Clusters = append(status.Clusters, mcsv1beta1.ClusterStatus{Cluster: cluster})
	}
	if equality.Semantic.DeepEqual(status, object.Status) {
		return nil
	}
	object.Status = status
	return r.here.GetClient().Status().Update(ctx, object)
}

// remove deletes those of the objects that exist.
func (r *reconciler) remove(ctx context.Context, objects ...client.Object) error {
	for _, object := range objects {
		err := r.here.GetClient().Get(ctx, client.ObjectKeyFromObject(object), object)
		if err == nil {
			err = r.here.GetClient().Delete(ctx, object)
		}
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// frontend returns the name of the Service that gives a multi-cluster Service its address in a cluster; a headless
// Service has none.
func (i imported) frontend(key types.NamespacedName) string {
	if i.kind != mcsv1beta1.ClusterSetIP {
		return ""
	}
	return frontendName(key)
}

func frontendName(key types.NamespacedName) string { return "clusterset-" + key.Name }

// address creates the frontend. It has no selector: its endpoints are the mirrored ones.
func (r *reconciler) address(ctx context.Context, key types.NamespacedName, wanted imported) ([]string, error) {
	if wanted.frontend(key) == "" {
		return nil, nil
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: wanted.frontend(key)}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.here.GetClient(), service, func() error {
		service.Spec.Ports = nil
		for _, port := range wanted.ports { // kube-proxy finds the endpoints' ports by name; the target port equals the default
			service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{
				Name: port.Name, Protocol: port.Protocol, AppProtocol: port.AppProtocol, Port: port.Port, TargetPort: intstr.FromInt32(port.Port),
			})
		}
		return nil
	})
	return service.Spec.ClusterIPs, err
}

// tell writes the conditions of the ServiceExport of this cluster, if it has one.
func (r *reconciler) tell(ctx context.Context, key types.NamespacedName, wanted imported) error {
	conditions, exports := wanted.conditions[r.here.name]
	if !exports {
		return nil
	}
	export := &mcsv1beta1.ServiceExport{}
	if err := r.here.GetClient().Get(ctx, key, export); err != nil {
		return err
	}
	changed := false
	for _, condition := range conditions {
		condition.ObservedGeneration = export.Generation
		changed = meta.SetStatusCondition(&export.Status.Conditions, condition) || changed
	}
	if !changed {
		return nil
	}
	return r.here.GetClient().Status().Update(ctx, export)
}
