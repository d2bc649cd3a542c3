package main

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/sliceshift/sliceshift/e2e/kind/stage"
)

// The application that moves: StatefulSet shop/etcd of three members.
const (
	namespace = "shop"
	name      = "etcd"
	members   = 3

	clientPort, peerPort = 2379, 2380
)

// app are its members. The other members know each by its name from the first start on.
var app = stage.Members{
	Namespace: namespace, Name: name, Replicas: members,
	Ports: []corev1.ServicePort{{Name: "client", Port: clientPort}, {Name: "peer", Port: peerPort}},
}

// url returns the URL of a member, which is valid in whichever cluster it runs.
func url(member string, port int) string { return fmt.Sprintf("http://%s:%d", app.Host(member), port) }

func clientURLs() string {
	var urls []string
	for _, member := range app.Names() {
		urls = append(urls, url(member, clientPort))
	}
	return strings.Join(urls, ",")
}

// folder returns the folder of a run, in the shared folder of the clusters.
func folder(run int) string { return fmt.Sprintf("run-%d", run) }

// statefulSet starts all members in parallel: none is Ready before there is a quorum. A member listens on every
// address and is known only by its name, because its address changes with the move. On a volume with data, etcd
// ignores the initial cluster.
func statefulSet(of stage.Members) *appsv1.StatefulSet {
	var initial []string
	for _, member := range of.Names() {
		initial = append(initial, member+"="+url(member, peerPort))
	}
	return of.StatefulSet(corev1.PodSpec{
		TerminationGracePeriodSeconds: ptr.To[int64](30), AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false), DNSConfig: stage.AsWritten(),
		Containers: []corev1.Container{{
			Name: name, Image: etcdImage, ImagePullPolicy: corev1.PullIfNotPresent,
			Env: []corev1.EnvVar{{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}},
			Args: []string{
				"--name=$(POD_NAME)", "--data-dir=/data/etcd", "--log-outputs=stderr,/data/log",
				fmt.Sprintf("--listen-client-urls=http://0.0.0.0:%d", clientPort), "--advertise-client-urls=" + url("$(POD_NAME)", clientPort),
				fmt.Sprintf("--listen-peer-urls=http://0.0.0.0:%d", peerPort), "--initial-advertise-peer-urls=" + url("$(POD_NAME)", peerPort),
				"--initial-cluster=" + strings.Join(initial, ","), "--initial-cluster-token=" + namespace,
			},
			VolumeMounts:   []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
			ReadinessProbe: caughtUp(),
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
			},
		}},
	})
}

// caughtUp is a readiness probe for a member that answers linearizable reads: it has a leader, and has applied
// everything that was committed at the time of the request.
func caughtUp() *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/readyz", Port: intstr.FromInt32(clientPort)}},
		PeriodSeconds: 1, TimeoutSeconds: 2, FailureThreshold: 3,
	}
}
