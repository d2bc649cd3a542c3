package mcs

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// mirrors is the manager label of the EndpointSlices of other clusters.
const mirrors = "mcs.e2e.sliceshift.io"

// exported is the export of one cluster under a name.
type exported struct {
	cluster string
	export  *mcsv1beta1.ServiceExport
	// service is nil if it does not exist.
	service *corev1.Service
	slices  []discoveryv1.EndpointSlice
}

// imported is the resulting import of every cluster.
type imported struct {
	// clusters are the exporting clusters; if there are none, nothing is imported.
	clusters []string
	kind     mcsv1beta1.ServiceImportType
	ports    []mcsv1beta1.ServicePort
	slices   []discoveryv1.EndpointSlice
	// conditions of the ServiceExport in each cluster.
	conditions map[string][]metav1.Condition
}

// derive merges the Services that the clusters export into one. Where they conflict, the oldest export decides, as
// KEP-1645 requires.
func derive(all []exported) imported {
	result := imported{conditions: map[string][]metav1.Condition{}}
	var valid []exported
	for _, each := range all {
		if reason := invalid(each.service); reason != "" {
			result.conditions[each.cluster] = refused(reason)
			continue
		}
		valid = append(valid, each)
	}
	slices.SortStableFunc(valid, older)
	for _, each := range valid {
		result.clusters = append(result.clusters, each.cluster)
		result.ports = union(result.ports, ports(each.service))
		for i := range each.slices {
			result.slices = append(result.slices, mirror(&each.slices[i], each.cluster))
		}
		result.conditions[each.cluster] = accepted(conflict(valid[0].service, each.service))
	}
	if len(valid) > 0 {
		result.kind = kindOf(valid[0].service)
	}
	slices.Sort(result.clusters)
	return result
}

func older(a, b exported) int {
	return cmp.Or(a.export.CreationTimestamp.Compare(b.export.CreationTimestamp.Time), cmp.Compare(a.cluster, b.cluster))
}

func kindOf(service *corev1.Service) mcsv1beta1.ServiceImportType {
	if service.Spec.ClusterIP == corev1.ClusterIPNone {
		return mcsv1beta1.Headless
	}
	return mcsv1beta1.ClusterSetIP
}

func ports(service *corev1.Service) []mcsv1beta1.ServicePort {
	var all []mcsv1beta1.ServicePort
	for _, port := range service.Spec.Ports {
		all = append(all, mcsv1beta1.ServicePort{Name: port.Name, Protocol: port.Protocol, AppProtocol: port.AppProtocol, Port: port.Port})
	}
	return all
}

// union adds the ports whose names are not present yet.
func union(have, more []mcsv1beta1.ServicePort) []mcsv1beta1.ServicePort {
	for _, port := range more {
		if !slices.ContainsFunc(have, func(p mcsv1beta1.ServicePort) bool { return p.Name == port.Name }) {
			have = append(have, port)
		}
	}
	return have
}

// mirror returns an EndpointSlice for other clusters, without references to objects of its own cluster.
func mirror(original *discoveryv1.EndpointSlice, cluster string) discoveryv1.EndpointSlice {
	copied := original.DeepCopy()
	for i := range copied.Endpoints {
		copied.Endpoints[i].TargetRef, copied.Endpoints[i].NodeName = nil, nil
	}
	return discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: original.Namespace, Name: cluster + "-" + original.Name, Labels: map[string]string{
			discoveryv1.LabelManagedBy: mirrors, mcsv1beta1.LabelSourceCluster: cluster,
			mcsv1beta1.LabelServiceName: original.Labels[discoveryv1.LabelServiceName],
		}},
		AddressType: copied.AddressType, Endpoints: copied.Endpoints, Ports: copied.Ports,
	}
}

// invalid returns the reason why a Service cannot be exported.
func invalid(service *corev1.Service) mcsv1beta1.ServiceExportConditionReason {
	switch {
	case service == nil:
		return mcsv1beta1.ServiceExportReasonNoService
	case service.Spec.Type == corev1.ServiceTypeExternalName:
		return mcsv1beta1.ServiceExportReasonInvalidServiceType
	}
	return ""
}

// conflict returns how a Service conflicts with the oldest Service of its name.
func conflict(oldest, service *corev1.Service) mcsv1beta1.ServiceExportConditionReason {
	switch {
	case kindOf(oldest) != kindOf(service):
		return mcsv1beta1.ServiceExportReasonTypeConflict
	case !equality.Semantic.DeepEqual(ports(oldest), ports(service)):
		return mcsv1beta1.ServiceExportReasonPortConflict
	}
	return ""
}

func refused(reason mcsv1beta1.ServiceExportConditionReason) []metav1.Condition {
	return []metav1.Condition{
		mcsv1beta1.NewServiceExportCondition(mcsv1beta1.ServiceExportConditionValid, metav1.ConditionFalse, reason, "the Service of this name cannot be exported"),
		mcsv1beta1.NewServiceExportCondition(mcsv1beta1.ServiceExportConditionReady, metav1.ConditionFalse, mcsv1beta1.ServiceExportReasonPending, "it is not valid"),
	}
}

func accepted(conflict mcsv1beta1.ServiceExportConditionReason) []metav1.Condition {
	contradicts := mcsv1beta1.NewServiceExportCondition(mcsv1beta1.ServiceExportConditionConflict, metav1.ConditionFalse, mcsv1beta1.ServiceExportReasonNoConflicts, "")
	if conflict != "" {
		contradicts = mcsv1beta1.NewServiceExportCondition(mcsv1beta1.ServiceExportConditionConflict, metav1.ConditionTrue, conflict, "the oldest export has it otherwise")
	}
	return []metav1.Condition{
		mcsv1beta1.NewServiceExportCondition(mcsv1beta1.ServiceExportConditionValid, metav1.ConditionTrue, mcsv1beta1.ServiceExportReasonValid, ""),
		mcsv1beta1.NewServiceExportCondition(mcsv1beta1.ServiceExportConditionReady, metav1.ConditionTrue, mcsv1beta1.ServiceExportReasonExported, ""),
		contradicts,
	}
}
