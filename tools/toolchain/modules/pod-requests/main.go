// Prints the requests of pods as Kubernetes counts them:
//
//	pod-requests <pods.jsonl
//
// Each line has a pod and the LimitRanges of its namespace, in the order in which they apply. The pod passes
// the API server's defaults and its LimitRanger before the scheduler's helper counts it. Each line of the
// output has the requests, cpu in millicores.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/kubernetes/pkg/apis/core"
	defaults "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/plugin/pkg/admission/limitranger"
)

type input struct {
	Pod         corev1.Pod          `json:"pod"`
	LimitRanges []corev1.LimitRange `json:"limitRanges"`
}

func main() {
	lines, results := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var line input
		err := lines.Decode(&line)
		if err == io.EOF {
			return
		}
		var requests map[string]int64
		if err == nil {
			requests, err = count(line)
		}
		if err == nil {
			err = results.Encode(requests)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func count(line input) (map[string]int64, error) {
	defaults.SetObjectDefaults_Pod(&line.Pod)
	var internal core.Pod
	if err := defaults.Convert_v1_Pod_To_core_Pod(&line.Pod, &internal, nil); err != nil {
		return nil, err
	}
	for i := range line.LimitRanges {
		defaults.SetObjectDefaults_LimitRange(&line.LimitRanges[i])
		if err := limitranger.PodMutateLimitFunc(&line.LimitRanges[i], &internal); err != nil {
			return nil, err
		}
	}
	var admitted corev1.Pod
	if err := defaults.Convert_core_Pod_To_v1_Pod(&internal, &admitted, nil); err != nil {
		return nil, err
	}
	requests := map[string]int64{}
	for name, quantity := range resourcehelper.PodRequests(&admitted, resourcehelper.PodResourcesOptions{}) {
		if name == corev1.ResourceCPU {
			requests[string(name)] = quantity.MilliValue()
		} else {
			requests[string(name)] = quantity.Value()
		}
	}
	return requests, nil
}
