// Package kind starts two kind clusters on this machine. Nodes are containers, with real kubelets, containers and
// data. The clusters are on one Docker network, and the pods of each reach those of the other. A folder of this
// machine is mounted on every node, as storage that the clusters share.
//
// If a registry is reachable, the nodes use kind's own image. Otherwise nodeimage builds an image.
package kind
