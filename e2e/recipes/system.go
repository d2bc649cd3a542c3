package main

import (
	_ "embed"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/sliceshift/sliceshift/e2e/kind/stage"
)

//go:embed scripts/postgresql.sh
var startPostgreSQL string

//go:embed scripts/postgresql-stop.sh
var stopPostgreSQL string

//go:embed scripts/redis.sh
var startRedis string

// system is a database of a primary and a replica, and the recipe by which it moves.
type system struct {
	recipe     string
	parameters map[string]string
	members    stage.Members
	// start is run by a member, stop before it is asked to end, ready to see whether it answers.
	start, stop, ready string
}

// systems are those that can be tried here.
func systems() []system {
	members := func(name string, port int32) stage.Members {
		return stage.Members{Namespace: "shop", Name: name, Replicas: 2, Ports: []corev1.ServicePort{{Name: "clients", Port: port}}}
	}
	parameters := map[string]string{"image": databaseImage}
	return []system{
		{
			recipe: "postgresql", parameters: parameters, members: members("db", 5432),
			start: startPostgreSQL, stop: stopPostgreSQL, ready: "pg_isready -q -h 127.0.0.1 -U postgres",
		},
		{
			recipe: "redis", parameters: parameters, members: members("cache", 6379),
			start: startRedis, ready: "redis-cli ping | grep -qx PONG",
		},
	}
}

// statefulSet is the database.
func (s system) statefulSet() *appsv1.StatefulSet {
	field := func(name, path string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
	}
	shell := func(script string) *corev1.ExecAction {
		return &corev1.ExecAction{Command: []string{"sh", "-euc", script}}
	}
	container := corev1.Container{
		Name: s.recipe, Image: databaseImage, ImagePullPolicy: corev1.PullIfNotPresent, Command: shell(s.start).Command,
		Env: []corev1.EnvVar{
			field("ORDINAL", "metadata.labels['"+appsv1.PodIndexLabel+"']"), {Name: "PRIMARY", Value: s.members.Host(s.members.Names()[0])},
		},
		VolumeMounts:   []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
		ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: shell(s.ready)}, PeriodSeconds: 1, TimeoutSeconds: 2, FailureThreshold: 3},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
		},
	}
	if s.stop != "" {
		container.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: shell(s.stop)}}
	}
	return s.members.StatefulSet(corev1.PodSpec{
		TerminationGracePeriodSeconds: ptr.To[int64](60), AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false),
		DNSConfig: stage.AsWritten(), Containers: []corev1.Container{container},
	})
}
