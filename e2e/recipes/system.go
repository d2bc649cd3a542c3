package main

import (
	_ "embed" // the scripts
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/e2e/kind/replica"
	"github.com/sliceshift/sliceshift/e2e/kind/stage"
)

//go:embed scripts/postgresql.sh
var startPostgreSQL string

//go:embed scripts/postgresql-stop.sh
var stopPostgreSQL string

//go:embed scripts/redis.sh
var startRedis string

//go:embed scripts/redis-cluster.sh
var startRedisCluster string

//go:embed scripts/redis-cluster-form.sh
var formRedisCluster string

//go:embed scripts/zookeeper.sh
var startZooKeeper string

//go:embed scripts/zookeeper-ready.sh
var readyZooKeeper string

// system is a database and its recipe.
type system struct {
	recipe     string
	parameters map[string]string
	// inPlace changes the StorageClass of the members, instead of moving them. rehearsed rehearses the move, and moves
	// them once.
	inPlace, rehearsed bool
	members            stage.Members
	image              string
	// start is the script of a member, stop that of its preStop hook, ready that of its readiness probe. form runs
	// once when all members are Ready.
	start, stop, ready, form string
	// anywhere is true if clients know all members, not just the first.
	anywhere bool
	// turn is the ordinal at whose stop the move is rolled back.
	turn int32
}

// name returns the name of the trial.
func (s system) name() string {
	switch {
	case s.inPlace:
		return s.recipe + "-in-place"
	case s.rehearsed:
		return s.recipe + "-rehearsal"
	}
	return s.recipe
}

// hosts returns the host names of members.
func (s system) hosts(members []string) []string {
	hosts := make([]string, 0, len(members))
	for _, member := range members {
		hosts = append(hosts, s.members.Host(member))
	}
	return hosts
}

// systems returns the databases that can be tried here.
func systems() []system {
	members := func(name string, replicas, port int32) stage.Members {
		return stage.Members{Namespace: "shop", Name: name, Replicas: replicas, Ports: []corev1.ServicePort{{Name: "clients", Port: port}}}
	}
	parameters := map[string]string{"image": databaseImage}
	const pong = "redis-cli ping | grep -qx PONG"
	ensemble := members("zk", 3, 2181)
	ensemble.Ports = append(ensemble.Ports, corev1.ServicePort{Name: "peers", Port: 2888}, corev1.ServicePort{Name: "election", Port: 3888})
	return []system{
		{
			recipe: "postgresql", parameters: parameters, members: members("db", 2, 5432), image: databaseImage,
			start: startPostgreSQL, stop: stopPostgreSQL, ready: "pg_isready -q -h 127.0.0.1 -U postgres",
		},
		{
			recipe: "postgresql", parameters: parameters, members: members("store", 2, 5432), image: databaseImage, inPlace: true,
			start: startPostgreSQL, stop: stopPostgreSQL, ready: "pg_isready -q -h 127.0.0.1 -U postgres",
		},
		{
			recipe: "redis", parameters: parameters, members: members("cache", 2, 6379), image: databaseImage,
			start: startRedis, ready: pong,
		},
		{
			recipe: "redis-cluster", parameters: parameters, members: members("shards", 6, 6379), image: databaseImage,
			start: startRedisCluster, ready: pong, form: formRedisCluster, anywhere: true, turn: 3,
		},
		{
			recipe: "zookeeper", members: ensemble, image: zookeeperImage,
			start: startZooKeeper, ready: readyZooKeeper, anywhere: true, turn: 1,
		},
		{
			recipe: "postgresql", parameters: parameters, members: members("ledger", 2, 5432), image: databaseImage, rehearsed: true,
			start: startPostgreSQL, stop: stopPostgreSQL, ready: "pg_isready -q -h 127.0.0.1 -U postgres",
		},
	}
}

// container returns that of a member.
func (s system) container() corev1.Container {
	shell := func(script string) *corev1.ExecAction {
		return &corev1.ExecAction{Command: []string{"sh", "-euc", script}}
	}
	container := corev1.Container{
		Name: s.recipe, Image: s.image, Command: shell(s.start).Command,
		Env: []corev1.EnvVar{
			replica.Field("ORDINAL", replica.PodIndex), replica.Field("POD_IP", "status.podIP"),
			{Name: "PRIMARY", Value: s.members.Host(s.members.Names()[0])},
			{Name: "MEMBERS", Value: strings.Join(s.hosts(s.members.Names()), " ")},
		},
		ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: shell(s.ready)}, PeriodSeconds: 1, TimeoutSeconds: 2, FailureThreshold: 3},
	}
	if s.stop != "" {
		container.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: shell(s.stop)}}
	}
	return container
}
