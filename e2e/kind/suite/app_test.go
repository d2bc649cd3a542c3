package suite

import (
	"cmp"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/replica"
)

// app is the application that a test moves.
type app struct {
	namespace string
	replicas  int32
	// grace is how long a pod may take to end, in seconds.
	grace int64
	// drain is the duration of the preStop hook. linger is how long the replica continues to write after it received
	// the signal to end. Both may be empty.
	drain, linger string
	// ours selects our own kind of set; inPlace selects that kind with pods that are updated in place.
	ours, inPlace bool
	// parallel creates its pods in parallel.
	parallel bool
	// liveness adds a probe that restarts a stuck container.
	liveness bool
	// needs makes its pods depend on objects of many kinds: see needs_test.go.
	needs bool
	// reasonGrace is terminationReasonGraceSeconds of our own kind: how long a pod is kept after its reason was
	// written.
	reasonGrace int32
	// disks is the StorageClass of volumes of a CSI driver. If it is empty, the volumes are in the shared folder.
	disks string
	// tick is the interval between the lines of each replica; empty means one second.
	tick string
	// bulk is the size in MiB of additional data on each disk. churns makes the replica overwrite blocks of it.
	bulk   int
	churns bool
	// size is the request of each claim; empty means 1Gi.
	size string
}

const name = "web"

var labels = map[string]string{"app": name}

// usual returns the application that most tests move.
func usual() app { return app{replicas: 3, grace: 5} }

// pods returns the names of its pods.
func (a app) pods() []string {
	var names []string
	for i := range a.replicas {
		names = append(names, fmt.Sprintf("%s-%d", name, i))
	}
	return names
}

func (a app) object() metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: a.namespace, Name: name}
}

func (a app) service() *corev1.Service {
	return &corev1.Service{ObjectMeta: a.object(), Spec: corev1.ServiceSpec{
		ClusterIP: corev1.ClusterIPNone, Selector: labels, Ports: []corev1.ServicePort{{Port: replica.Port}},
	}}
}

func (a app) budget() *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{ObjectMeta: a.object(), Spec: policyv1.PodDisruptionBudgetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels}, MaxUnavailable: new(intstr.FromInt32(1)),
	}}
}

// volume returns a volume in the shared folder that is reserved for the claim of a pod.
func (a app) volume(pod string) *corev1.PersistentVolume {
	return replica.Volume(types.NamespacedName{Namespace: a.namespace, Name: "data-" + pod}, pod)
}

func (a app) statefulSet() *appsv1.StatefulSet {
	policy := appsv1.OrderedReadyPodManagement
	if a.parallel {
		policy = appsv1.ParallelPodManagement
	}
	template := a.template()
	if a.needs {
		needing(&template.Spec)
	}
	return &appsv1.StatefulSet{ObjectMeta: a.object(), Spec: appsv1.StatefulSetSpec{
		PodManagementPolicy: policy,
		Replicas:            &a.replicas, ServiceName: name, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template,
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{a.claim(metav1.ObjectMeta{Name: "data"})},
	}}
}

// claim returns a claim for the data of a replica.
func (a app) claim(meta metav1.ObjectMeta) corev1.PersistentVolumeClaim {
	return corev1.PersistentVolumeClaim{ObjectMeta: meta, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: new(cmp.Or(a.disks, kind.StorageClass)),
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(cmp.Or(a.size, "1Gi"))}},
	}}
}

// trouble is the ConfigMap that makes the start of the workload fail, or slow, in the cluster that has it.
const trouble = "trouble"

func (a app) template() corev1.PodTemplateSpec {
	container := replica.Container(image, replica.PodName, "/data")
	container.Env = append(container.Env, corev1.EnvVar{Name: "LINGER", Value: a.linger}, corev1.EnvVar{Name: "TICK", Value: a.tick},
		fromTrouble("CRASH"), fromTrouble("START_DELAY"))
	container.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}, {Name: "podinfo", MountPath: "/podinfo"}}
	if a.churns {
		container.Env = append(container.Env, corev1.EnvVar{Name: "CHURN", Value: "yes"})
	}
	if a.disks != "" {
		container.VolumeMounts[0].SubPathExpr = "$(OWNER)" // a disk has a folder for the journal: see seeder
	}
	if a.liveness {
		container.LivenessProbe = &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/livez", Port: intstr.FromInt32(replica.Port)}},
			PeriodSeconds: 1, TimeoutSeconds: 10, FailureThreshold: 1,
		}
	}
	if a.drain != "" {
		container.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"/workload", "drain", a.drain}}}}
	}
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: &a.grace, Containers: []corev1.Container{container},
			AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false),
			Volumes: []corev1.Volume{{Name: "podinfo", VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{
				Items: []corev1.DownwardAPIVolumeFile{{Path: "reason", FieldRef: &corev1.ObjectFieldSelector{
					FieldPath: "metadata.annotations['" + reasonAnnotation + "']",
				}}},
			}}}},
		},
	}
}

func fromTrouble(variable string) corev1.EnvVar {
	return corev1.EnvVar{Name: variable, ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: trouble}, Key: variable, Optional: new(true),
	}}}
}

// seeder returns the pod that creates an empty journal on each volume.
func (a app) seeder() *corev1.Pod {
	if a.disks == "" {
		return replica.Seeder(image, a.namespace, a.pods()...)
	}
	var folders []string
	for _, pod := range a.pods() {
		folders = append(folders, pod+"/"+pod)
	}
	seeder := replica.Seeder(image, a.namespace, folders...)
	container := &seeder.Spec.Containers[0]
	if a.bulk > 0 {
		container.Env = []corev1.EnvVar{{Name: "BULK", Value: strconv.Itoa(a.bulk)}}
	}
	seeder.Spec.Volumes, container.VolumeMounts = nil, nil
	for _, pod := range a.pods() {
		seeder.Spec.Volumes = append(seeder.Spec.Volumes, corev1.Volume{Name: pod, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-" + pod},
		}})
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: pod, MountPath: "/volumes/" + pod})
	}
	return seeder
}
